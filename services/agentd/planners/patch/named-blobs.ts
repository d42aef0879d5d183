import { git, gitText } from '#kit/git/git.ts';
import { type FilePatch, type Hunk, scanPatches } from '#kit/git/patch.ts';
import { blobId } from '../../git/blobs.ts';
import type { PlacingOptions } from './place-hunks.ts';

/** True if the patch names the blob that it makes, and this is it. */
export function isResult(file: FilePatch, content: Uint8Array): boolean {
  const id = indexIds(file)?.after;
  return id !== undefined && isBlob(content, id);
}

/** The blobs before and after, as the `index` line of git names them; null without such a line. */
export function indexIds({
  extended,
}: FilePatch): { readonly before: string; readonly after: string } | null {
  for (const line of extended) {
    const [, before, after] = /^index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})\b/.exec(line) ?? [];
    if (before !== undefined) return { before, after: after! };
  }
  return null;
}

/** `moves` since the blob that the patch names; null if it names none, or one that the repository does not have. */
export async function movesSince(
  gitDir: string,
  file: FilePatch,
  content: Uint8Array,
): Promise<PlacingOptions['moves']> {
  const id = indexIds(file)?.before;
  return id === undefined ? null : movesSinceBlob(gitDir, id, content);
}

/** `moves` of a file since a commit, or in words why they are unknown. @param commit may be abbreviated */
export async function movesSinceCommit(
  gitDir: string,
  commit: string,
  path: string,
  content: Uint8Array,
): Promise<NonNullable<PlacingOptions['moves']> | string> {
  const idOf = async (name: string) => {
    const found = await git(['rev-parse', '--verify', '--quiet', '--end-of-options', name], {
      gitDir,
      accept: [1, 128],
    });
    return found.stdout.toString().trim();
  };
  const id = await idOf(`${commit}^{commit}`);
  if (id === '') return `the repository has no commit ${commit}`;
  const blob = await idOf(`${id}:${path}`);
  const moves = blob === '' ? null : await movesSinceBlob(gitDir, blob, content);
  return moves ?? `commit ${commit} has no such file`;
}

async function movesSinceBlob(
  gitDir: string,
  id: string,
  content: Uint8Array,
): Promise<PlacingOptions['moves']> {
  if (isBlob(content, id)) return (index) => index;
  const now = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: content });
  const args = ['diff', '-U0', '--text', '--no-color', '--no-ext-diff', '--no-textconv'];
  const patch = await git([...args, `${id}^{blob}`, `${now}^{blob}`], { gitDir, accept: [128] });
  if (patch.stdout.length === 0) return null;
  const lines = patch.stdout.toString('latin1').split('\n');
  return movesOf(scanPatches(lines, 1).files.flatMap(({ hunks }) => hunks));
}

/** @param id may be abbreviated */
function isBlob(content: Uint8Array, id: string): boolean {
  return [40, 64].some((length) => blobId(length, content).startsWith(id));
}

/** `moves` of a file from what git's diff without context says of it. */
function movesOf(hunks: readonly Hunk[]): (index: number) => number | null {
  const changes = hunks.map(({ old_start, lines }) => {
    const removed = lines.filter((line) => line.startsWith('-')).length;
    const added = lines.filter((line) => line.startsWith('+')).length;
    const from = removed === 0 ? old_start : old_start - 1;
    return { from, to: from + removed, shift: added - removed };
  });
  return (index) => {
    const before = changes.filter(({ from }) => from <= index);
    if (index < 0) return index;
    if (before.some(({ to }) => index < to)) return null;
    return before.reduce((at, { shift }) => at + shift, index);
  };
}
