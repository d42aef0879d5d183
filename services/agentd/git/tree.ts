import { git } from '#kit/git/git.ts';
import { readObject } from '#kit/git/objects.ts';
import { linkMode, readTree, splitAtNul, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import type { FileChange } from '../action.ts';

/** A tree to read, at one commit. Paths are repository paths: `/` between parts, no leading slash. */
export interface TreeReader {
  /** Regular files, sorted; links and submodules are left out. */
  list(): Promise<string[]>;
  /** null where there is no such regular file. */
  read(path: string): Promise<Uint8Array | null>;
}

/** The list is read once. */
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

function modeOrNull(mode: string): string | null {
  return mode === '000000' ? null : mode;
}

function countOrNull(count: string): number | null {
  return count === '-' ? null : Number(count);
}
