import { chmodSync, closeSync, constants, mkdirSync, openSync, symlinkSync } from 'node:fs';
import { writeAll } from '#kit/durable-file.ts';
import { Refused } from '#kit/errors.ts';
import { readObjects } from './objects.ts';
import { pathProblem } from './paths.ts';
import { linkMode, readTree, submoduleMode, type TreeEntry } from './tree.ts';

/**
 * Writes a tree's files into an empty or missing folder, byte for byte: no filters, line endings or export rules. Links
 * come last, so that nothing is written through one; they are recorded text and may point anywhere. Submodules become
 * empty folders. @throws Refused `tree_not_allowed` naming the path, before anything is written
 */
export async function exportTree(gitDir: string, tree: string, intoDir: string): Promise<void> {
  const entries = await readTree(gitDir, tree);
  checkNames(entries);
  mkdirSync(intoDir, { recursive: true, mode: 0o700 });
  makeFolders(entries, intoDir);
  await writeEntries(gitDir, entries, intoDir);
}

export function checkNames(entries: readonly TreeEntry[]): void {
  for (const { path } of entries) {
    const problem = pathProblem(path);
    if (problem !== null)
      throw new Refused('tree_not_allowed', `the tree cannot be written: '${path}' ${problem}`);
  }
}

/** Writes files, then links. None of them may exist; their folders must. `onWritten` is told how many are there. */
export async function writeEntries(
  gitDir: string,
  entries: readonly TreeEntry[],
  intoDir: string,
  onWritten?: (count: number) => void,
): Promise<void> {
  const files = entries.filter(({ mode }) => mode !== linkMode && mode !== submoduleMode);
  const links = entries.filter(({ mode }) => mode === linkMode);
  const ordered = [...files, ...links];
  let next = 0;
  for await (const { bytes } of readObjects(
    gitDir,
    ordered.map(({ id }) => id),
  )) {
    const entry = ordered[next++]!;
    const path = placeOf(intoDir, entry.bytes);
    if (entry.mode === linkMode) symlinkSync(bytes, path);
    else writeNew(path, bytes, entry.mode === '100755' ? 0o755 : 0o644);
    onWritten?.(next);
  }
}

export function placeOf(folder: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), name]);
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

function writeNew(path: Buffer, bytes: Buffer, mode: number): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    writeAll(fd, bytes);
  } finally {
    closeSync(fd);
  }
  if (mode === 0o755) chmodSync(path, mode);
}

function makeFolders(entries: readonly TreeEntry[], intoDir: string): void {
  const made = new Set<string>();
  for (const { bytes, mode } of entries) {
    const end = mode === submoduleMode ? bytes.length : bytes.lastIndexOf(47);
    if (end <= 0) continue;
    const folder = bytes.subarray(0, end);
    const key = folder.toString('latin1');
    if (made.has(key)) continue;
    made.add(key);
    mkdirSync(placeOf(intoDir, folder), { recursive: true });
  }
}
