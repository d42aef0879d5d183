import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeAll } from '#kit/durable-file.ts';
import { Refused } from '#kit/errors.ts';
import { git } from '#kit/git/git.ts';
import { readObjects } from '#kit/git/objects.ts';
import { linkMode, readTree, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import { writeGitDir } from './git-dir.ts';
import { pathProblem } from './patch.ts';

/**
 * Writes a tree's files into an empty or missing folder, byte for byte: no filters, line endings or export rules. Git itself
 * writes them, on every core, from a repository that lives only as long and holds no settings but ours. Links are recorded text
 * and may point anywhere; nothing is written through one. Submodules become empty folders.
 * @param tree full id of a tree, or of a commit
 * @throws Refused `tree_not_allowed` naming the path, before anything is written
 */
export async function exportTree(gitDir: string, tree: string, intoDir: string): Promise<void> {
  checkNames(await readTree(gitDir, tree));
  mkdirSync(intoDir, { recursive: true, mode: 0o700 });
  const aside = `${intoDir}.git`;
  try {
    writeGitDir(aside, tree.length);
    writeFileSync(join(aside, 'info/attributes'), '* -text -filter -ident -working-tree-encoding\n');
    await git(['read-tree', '-u', '--reset', '--end-of-options', tree], {
      gitDir: aside,
      cwd: intoDir,
      env: { GIT_WORK_TREE: intoDir, GIT_OBJECT_DIRECTORY: join(gitDir, 'objects') },
      // A validation sees the modes that a checkout has, below a folder that nobody else can enter.
      umask: 0o022,
    });
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

export function checkNames(entries: readonly TreeEntry[]): void {
  for (const { path } of entries) {
    const problem = pathProblem(path);
    if (problem !== null)
      throw new Refused('tree_not_allowed', `the tree cannot be written: '${path}' ${problem}`);
  }
}

/** Writes files, readable by their owner alone, then links. None of them may exist; their folders must. `onWritten` gets their count so far. */
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
    else writeNew(path, bytes, entry.mode === '100755' ? 0o700 : 0o600);
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
  if (mode === 0o700) chmodSync(path, mode);
}
