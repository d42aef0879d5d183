import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failed, InvalidInput, NotFound } from '#kit/errors.ts';
import { git } from '#kit/git/git.ts';
import { readObjects } from '#kit/git/objects.ts';
import { resolve, treeOf } from '#kit/git/tree.ts';
import type { ListedFile } from './listing.ts';

/**
 * The git directory of a folder that is a work tree or a bare repository; a folder within a work tree is not one.
 * @throws NotFound (`repository_not_found`), InvalidInput (`path_not_a_repository`)
 */
export async function gitDirOf(path: string): Promise<string> {
  const folder = await realpath(path).catch(() => null);
  if (folder === null || !(await stat(folder)).isDirectory()) {
    throw new NotFound('repository_not_found', `there is no folder '${path}'`);
  }
  const found = await git(['rev-parse', '--absolute-git-dir'], {
    cwd: folder,
    env: { GIT_CEILING_DIRECTORIES: dirname(folder) },
    accept: [128],
  });
  if (found.exitCode === 0) return found.stdout.toString('utf8').trimEnd();
  throw new InvalidInput(
    'path_not_a_repository',
    `'${path}' is no git repository: neither a work tree nor a bare one`,
    {
      hint: 'name the folder that holds .git',
    },
  );
}

/**
 * The commit to read: the given one, else `HEAD`'s; null where there is no commit yet.
 * @throws NotFound (`commit_not_found`)
 */
export async function commitOf(gitDir: string, wanted: string | undefined): Promise<string | null> {
  const commit = await resolve(gitDir, `${wanted ?? 'HEAD'}^{commit}`);
  if (commit !== null || wanted === undefined) return commit;
  throw new NotFound('commit_not_found', `there is no commit '${wanted}' in ${gitDir}`);
}

/** The last two parts of the address of `origin`; null where there is none that gives a name. */
export async function nameByOrigin(gitDir: string): Promise<string | null> {
  const found = await git(['config', '--get', 'remote.origin.url'], { gitDir, accept: [1] });
  if (found.exitCode !== 0) return null;
  const parts = found.stdout
    .toString('utf8')
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split(/[/:\\]/);
  const name = parts.slice(-2).join('/');
  return parts.length > 1 && !name.includes('@') ? name : null;
}

/**
 * The content of files, in their order; null where the repository cannot give it any more.
 * @throws Failed (`repository_vanished`)
 */
export async function* readBlobs(
  gitDir: string,
  commit: string,
  files: readonly ListedFile[],
): AsyncGenerator<{ file: ListedFile; bytes: Buffer | null }, void, undefined> {
  for (let at = 0; at < files.length; at++) {
    const ids = files.slice(at).map(({ blob }) => blob);
    try {
      for await (const { bytes } of readObjects(gitDir, ids)) yield { file: files[at++]!, bytes };
    } catch (error) {
      await mustBeThere(gitDir, commit, error);
      if (at < files.length) yield { file: files[at]!, bytes: null };
    }
  }
}

async function mustBeThere(gitDir: string, commit: string, cause: unknown): Promise<void> {
  try {
    await treeOf(gitDir, commit);
  } catch {
    throw new Failed('repository_vanished', `${gitDir} is gone, or has lost ${commit}, while it was read`, {
      cause,
      hint: 'what was read before stays; refresh again when the repository is back',
    });
  }
}
