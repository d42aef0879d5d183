import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '#kit/errors.ts';
import { resolve } from '#kit/git/tree.ts';

/**
 * The object that a full ref name of a repository of ours stands for; null where there is none. From the ref's own file where it
 * has one, because this is asked so often that starting git for it counts; else as git sees it.
 */
export async function refObject(gitDir: string, ref: string): Promise<string | null> {
  return ownFile(gitDir, ref) ?? (await resolve(gitDir, ref));
}

/** Whether a ref has a file of its own that names an object, and so is no other name for another ref. */
export function isPlainRef(gitDir: string, ref: string): boolean {
  return ownFile(gitDir, ref) !== null;
}

function ownFile(gitDir: string, ref: string): string | null {
  try {
    return /^([0-9a-f]{40}|[0-9a-f]{64})\n$/.exec(readFileSync(join(gitDir, ref), 'latin1'))?.[1] ?? null;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(codeOf(error))) return null;
    throw error;
  }
}
