import { NotFound } from '#kit/errors.ts';
import type { FileChange } from '../action.ts';
import type { TreeReader } from '../planning/scratch-copy.ts';
import { git } from './git.ts';
import { readObject } from './objects.ts';

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

/** Reads one commit or tree. The list is read once. */
export function treeReader(gitDir: string, treeish: string): TreeReader {
  let entries: Promise<Map<string, TreeEntry>> | undefined;
  function regularFiles(): Promise<Map<string, TreeEntry>> {
    entries ??= readTree(gitDir, treeish).then((all) => {
      const files = all.filter(({ mode }) => mode !== linkMode && mode !== submoduleMode);
      return new Map(files.map((entry) => [entry.path, entry]));
    });
    return entries;
  }
  return {
    async list() {
      return [...(await regularFiles()).keys()].sort();
    },
    async read(path) {
      const entry = (await regularFiles()).get(path);
      return entry === undefined ? null : readObject(gitDir, entry.id);
    },
  };
}

/** The patch from one tree to another, renames shown, that `applyPatchToTree` turns into exactly `tree` again. */
export async function patchBetween(gitDir: string, base: string, tree: string): Promise<Buffer> {
  const args = ['diff-tree', '-r', '-p', '-M', '--binary', '--full-index', '--no-color', '--no-ext-diff'];
  const sides = ['--no-textconv', '--src-prefix=a/', '--dst-prefix=b/', '--end-of-options', base, tree];
  return (await git([...args, ...sides], { gitDir })).stdout;
}

/** What differs between two trees, as people are shown it. */
export async function changesBetween(gitDir: string, base: string, tree: string): Promise<FileChange[]> {
  const args = ['diff-tree', '-r', '-z', '-M', '--raw', '--numstat', '--end-of-options', base, tree];
  const records = splitAtNul((await git(args, { gitDir })).stdout).map((record) => record.toString('utf8'));
  const changes: FileChange[] = [];
  const counts: { added: number | null; removed: number | null }[] = [];
  for (let at = 0; at < records.length; ) {
    const record = records[at]!;
    if (record.startsWith(':')) {
      const [oldMode, newMode, , , status] = record.slice(1).split(' ');
      const moved = /^[RC]/.test(status!);
      changes.push({
        path: records[at + (moved ? 2 : 1)]!,
        old_path: moved ? records[at + 1]! : null,
        status: statusNames[status![0]!] ?? 'modified',
        added: null,
        removed: null,
        old_mode: modeOrNull(oldMode!),
        new_mode: modeOrNull(newMode!),
      });
      at += moved ? 3 : 2;
    } else {
      const [added, removed, path] = record.split('\t');
      counts.push({ added: countOrNull(added!), removed: countOrNull(removed!) });
      at += path === '' ? 3 : 1;
    }
  }
  return changes.map((change, index) => ({ ...change, ...counts[index] }));
}

const statusNames: Readonly<Record<string, FileChange['status']>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
};

export interface ChangedEntry extends TreeEntry {
  /** Whether `base` has nothing of that name. */
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

/** Why git or we do not accept a branch name, or null. */
export async function branchNameProblem(name: string): Promise<string | null> {
  if (name === '' || name.length > 200) return 'must have 1 to 200 characters';
  if (name.startsWith('-')) return "must not start with '-'";
  if (name.startsWith('refs/')) return "must not start with 'refs/'";
  if (name === 'HEAD' || name === '@') return 'is a name of git itself';
  if (!/^[\x21-\x7e]+$/.test(name) || name.includes('"')) {
    return "must be printable ASCII without spaces and without '\"'";
  }
  const checked = await git(['check-ref-format', `refs/heads/${name}`], { accept: [1] });
  return checked.exitCode === 0 ? null : "breaks git's rules for names (see git help check-ref-format)";
}

function splitAtNul(output: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 0; start < output.length; ) {
    const found = output.indexOf(0, start);
    const end = found < 0 ? output.length : found;
    parts.push(output.subarray(start, end));
    start = end + 1;
  }
  return parts;
}

function modeOrNull(mode: string): string | null {
  return mode === '000000' ? null : mode;
}

function countOrNull(count: string): number | null {
  return count === '-' ? null : Number(count);
}
