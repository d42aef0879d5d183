import { execFile } from 'node:child_process';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Removes a folder that untrusted commands wrote: with read-only folders and paths longer than the system takes, which rm(1)
 * walks step by step. It follows no links. What cannot be removed stays for the next sweep.
 */
export async function removeTree(path: string): Promise<void> {
  const removed = await run('rm', ['-rf', '--', path]).then(
    () => true,
    () => false,
  );
  if (removed) return;
  await run('chmod', ['-R', 'u+rwX', '--', path]).catch(() => {});
  await run('rm', ['-rf', '--', path]).catch(() => {});
}

/** Removes entries of a folder that nobody has touched for a while. */
export async function sweep(
  folder: string,
  olderThanMs: number,
  matching: (name: string) => boolean,
): Promise<void> {
  const before = Date.now() - olderThanMs;
  for (const name of await readdir(folder).catch(() => [])) {
    if (!matching(name)) continue;
    const path = join(folder, name);
    const facts = await lstat(path).catch(() => null);
    if (facts && facts.mtimeMs < before) await removeTree(path);
  }
}
