import { existsSync } from 'node:fs';
import { NotFound } from '#kit/errors.ts';
import { mirrorFolder } from '#kit/git/mirror-folder.ts';
import { lookUp, readObject } from '#kit/git/objects.ts';
import type { Target } from '../action.ts';

/**
 * A file of the commit that a change is made on, from this host's mirror.
 * @throws NotFound (`base_file_not_found`)
 */
export async function readBaseFile(stateDir: string, target: Target, path: string): Promise<Uint8Array> {
  const { forge, owner, repo, base_commit } = target;
  const dir = mirrorFolder(stateDir, `${forge}/${owner}/${repo}`);
  const canBeNamed = !path.includes('\n');
  const [id = null] = canBeNamed && existsSync(dir) ? await lookUp(dir, [`${base_commit}:${path}`]) : [];
  if (id !== null) return readObject(dir, id);
  throw new NotFound(
    'base_file_not_found',
    `the clone of ${owner}/${repo} on this host has no ${path} at ${base_commit.slice(0, 12)}`,
    { hint: 'It is cloned where runs of the repository are planned or executed.' },
  );
}
