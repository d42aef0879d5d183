import { lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, InvalidInput, Refused } from '#kit/errors.ts';
import type { SandboxRun } from '../ports/sandbox.ts';

export interface Mount {
  /** Real path on the host. */
  readonly source: string;
  /** Relative to the workspace, for example `packages/a/node_modules`. */
  readonly target: string;
}

/**
 * Makes the folders of the workspace on which `mounts` go. The workspace holds what nobody trusts, so that no part of a target may
 * be a link: a mount point behind one would be made, and seen, outside.
 * @throws InvalidInput (`mount_not_allowed`) for a target that is not a path below the workspace
 * @throws Refused (`mount_point_blocked`) when something other than a folder stands in its way
 */
export async function makeMountPoints(run: Pick<SandboxRun, 'workspace' | 'mounts'>): Promise<Mount[]> {
  const made: Mount[] = [];
  for (const { source, target } of run.mounts) {
    const parts = target.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) {
      throw new InvalidInput(
        'mount_not_allowed',
        `mount target '${target}' must be a relative path without '.' and '..', for example node_modules`,
      );
    }
    if (!(await stat(source)).isDirectory()) {
      throw new InvalidInput('mount_not_allowed', `mount source '${source}' must be a folder`);
    }
    await makeRealFolders(run.workspace, parts);
    made.push({ source: await realpath(source), target });
  }
  return made;
}

async function makeRealFolders(workspace: string, parts: readonly string[]): Promise<void> {
  let path = workspace;
  for (const part of parts) {
    path = join(path, part);
    await mkdir(path).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    if ((await lstat(path)).isDirectory()) continue;
    throw new Refused(
      'mount_point_blocked',
      `'${parts.join('/')}' cannot be mounted: '${part}' in the repository is a file or a link, not a folder`,
      { hint: 'Change prepared_paths for this repository in config/validation.json.' },
    );
  }
}
