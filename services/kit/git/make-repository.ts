import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { git } from './git.ts';

/** Makes a repository of these files, by path, with one commit on `main`; the person's own git configuration has no part in it. */
export async function makeRepository(
  folder: string,
  files: Readonly<Record<string, string>>,
  {
    author,
    message,
    signal,
  }: { readonly author: string; readonly message: string; readonly signal?: AbortSignal },
): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const identity = ['-c', `user.name=${author}`, '-c', `user.email=${author.toLowerCase()}@localhost`];
  const run = (...args: readonly string[]) => git([...identity, ...args], { cwd: folder, signal });
  await run('init', '--quiet', '--initial-branch=main');
  await run('add', '--all');
  await run('commit', '--quiet', '--message', message);
}
