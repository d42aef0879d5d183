import { lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { git } from '#kit/git/git.ts';
import { differenceBetween, readTree, submoduleMode } from '#kit/git/tree.ts';
import { checkNames, placeOf, writeEntries } from '../../git/export-tree.ts';
import type { Workspace } from '../../ports/vcs.ts';
import { watchChildren } from '../leftovers.ts';

/**
 * Turns a folder that holds tree `from` into tree `to`, byte for byte, from the objects. `onHalf` is called with the change
 * half made. @returns the paths that `from` did not have
 */
export async function writeDifference(
  gitDir: string,
  folder: string,
  from: string,
  to: string,
  onHalf: () => void,
): Promise<string[]> {
  const { changed, deleted } = await differenceBetween(gitDir, from, to);
  checkNames(changed);
  for (const name of deleted) removeFile(folder, name);
  const written = changed.filter(({ mode }) => mode !== submoduleMode);
  for (const { bytes } of written) clearPlace(folder, bytes);
  const half = Math.ceil(written.length / 2);
  await writeEntries(gitDir, written, folder, (count) => {
    if (count === half) onHalf();
  });
  return written.filter(({ added }) => added).map(({ path }) => path);
}

/** Makes the work tree and the index exactly `tree`, removing what the index knows and the tree has not. */
export async function checkOut(workspace: Workspace, tree: string, folder: string): Promise<void> {
  await git(['read-tree', '-u', '--reset', tree], {
    gitDir: join(folder, '.git'),
    cwd: folder,
    env: { GIT_WORK_TREE: folder },
    children: watchChildren(workspace),
  });
}

/** Removes every file that the tree does not have, and the folders that are empty then. `.git` and `.jj` stay. */
export async function removeForeign(gitDir: string, folder: string, tree: string): Promise<void> {
  const names = new Set((await readTree(gitDir, tree)).map(({ bytes }) => bytes.toString('latin1')));
  removeUnknown(Buffer.from(folder), '', names);
}

function removeUnknown(folder: Buffer, prefix: string, names: ReadonlySet<string>): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, encoding: 'buffer' })) {
    const name = prefix + entry.name.toString('latin1');
    if (name === '.git' || name === '.jj' || names.has(name)) continue;
    const path = Buffer.concat([folder, Buffer.from('/'), entry.name]);
    if (entry.isDirectory()) {
      removeUnknown(path, `${name}/`, names);
      removeEmpty(path);
    } else rmSync(path, { force: true });
  }
}

function removeFile(folder: string, name: Buffer): void {
  rmSync(placeOf(folder, name), { force: true, recursive: true });
  for (let end = name.lastIndexOf(47); end > 0; end = name.lastIndexOf(47, end - 1)) {
    if (!removeEmpty(placeOf(folder, name.subarray(0, end)))) return;
  }
}

function removeEmpty(path: Buffer): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Makes room for a file: nothing at its place, real folders on the way to it. */
function clearPlace(folder: string, name: Buffer): void {
  for (let end = name.indexOf(47); end > 0; end = name.indexOf(47, end + 1)) {
    const part = placeOf(folder, name.subarray(0, end));
    const found = lstatSync(part, { throwIfNoEntry: false });
    if (found?.isDirectory()) continue;
    if (found !== undefined) rmSync(part, { force: true });
    mkdirSync(part);
  }
  rmSync(placeOf(folder, name), { force: true, recursive: true });
}
