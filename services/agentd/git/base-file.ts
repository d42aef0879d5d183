import { existsSync } from 'node:fs';
import { NotFound, TooLarge } from '#kit/errors.ts';
import { mirrorFolder } from '#kit/git/mirror-folder.ts';
import { lookUp, readObject } from '#kit/git/objects.ts';
import type { Target } from '../action.ts';

/** Bytes of a file that is read whole for the few lines that are asked for. */
const maxBytes = 20 * 1024 * 1024;

/**
 * A file of the commit that a change is made on, from this host's mirror.
 * @throws NotFound (`base_file_not_found`), TooLarge (`base_file_too_large`)
 */
export async function readBaseFile(stateDir: string, target: Target, path: string): Promise<Uint8Array> {
  const { forge, owner, repo, base_commit } = target;
  const dir = mirrorFolder(stateDir, `${forge}/${owner}/${repo}`);
  const canBeNamed = !path.includes('\n');
  const [id = null] = canBeNamed && existsSync(dir) ? await lookUp(dir, [`${base_commit}:${path}`]) : [];
  if (id !== null)
    return readObject(dir, id, (size) => {
      if (size > maxBytes)
        throw new TooLarge(
          'base_file_too_large',
          `${path} has ${size} bytes; lines around a change are shown of files up to ${maxBytes}`,
        );
    });
  throw new NotFound(
    'base_file_not_found',
    `the clone of ${owner}/${repo} on this host has no ${path} at ${base_commit.slice(0, 12)}`,
    { hint: 'It is cloned where runs of the repository are planned or executed.' },
  );
}
