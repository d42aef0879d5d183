import { NotFound } from '../errors.ts';
import { git } from './git.ts';

export const linkMode = '120000';
export const submoduleMode = '160000';

export interface TreeEntry {
  /** `100644`, `100755`, `120000` (symbolic link) or `160000` (submodule). */
  readonly mode: string;
  readonly id: string;
  readonly path: string;
  /** The name as recorded; differs from `path` where it is not UTF-8. */
  readonly bytes: Buffer;
}

/** Everything below a tree or commit, in git's order; folders themselves are left out. */
export async function readTree(gitDir: string, treeish: string): Promise<TreeEntry[]> {
  const { stdout } = await git(['ls-tree', '-r', '-z', '--full-tree', '--end-of-options', treeish], {
    gitDir,
  });
  return splitAtNul(stdout).map((record) => {
    const tab = record.indexOf(9);
    const [mode, , id] = record.toString('latin1', 0, tab).split(' ');
    const bytes = record.subarray(tab + 1);
    return { mode: mode!, id: id!, path: bytes.toString('utf8'), bytes };
  });
}

/** The tree of a commit (or of a tree, itself). @throws NotFound `commit_not_found` */
export async function treeOf(gitDir: string, commitish: string): Promise<string> {
  const id = await resolve(gitDir, `${commitish}^{tree}`);
  if (id !== null) return id;
  throw new NotFound('commit_not_found', `there is no commit ${commitish} in ${gitDir}`);
}

/** The object that a name stands for; null where there is none. */
export async function resolve(gitDir: string, name: string): Promise<string | null> {
  const found = await git(['rev-parse', '--verify', '--quiet', '--end-of-options', name], {
    gitDir,
    accept: [1, 128],
  });
  return found.exitCode === 0 ? found.stdout.toString('utf8').trim() : null;
}

export interface ChangedEntry extends TreeEntry {
  /** True if `base` has no entry of that name. */
  readonly added: boolean;
}

/** Entries that `tree` has and `base` has not, or has otherwise; and the paths that `tree` lacks. */
export async function differenceBetween(
  gitDir: string,
  base: string,
  tree: string,
): Promise<{ changed: ChangedEntry[]; deleted: Buffer[] }> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--raw', '--end-of-options', base, tree];
  const records = splitAtNul((await git(args, { gitDir })).stdout);
  const changed: ChangedEntry[] = [];
  const deleted: Buffer[] = [];
  for (let at = 0; at < records.length; at += 2) {
    const [, mode, , id, status] = records[at]!.toString('latin1').split(' ');
    const bytes = records[at + 1]!;
    if (status === 'D') deleted.push(bytes);
    else changed.push({ mode: mode!, id: id!, path: bytes.toString('utf8'), bytes, added: status === 'A' });
  }
  return { changed, deleted };
}

/** Parts of what git prints with `-z`. */
export function splitAtNul(output: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 0; start < output.length; ) {
    const found = output.indexOf(0, start);
    const end = found < 0 ? output.length : found;
    parts.push(output.subarray(start, end));
    start = end + 1;
  }
  return parts;
}
