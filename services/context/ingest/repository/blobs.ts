import { Failed } from '#kit/errors.ts';
import { readObjects } from '#kit/git/objects.ts';
import { treeOf } from '#kit/git/tree.ts';
import type { ListedFile } from './listing.ts';

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
