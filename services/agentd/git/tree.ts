import { statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '#kit/errors.ts';
import { git } from '#kit/git/git.ts';
import { readObject, readObjects } from '#kit/git/objects.ts';
import { linkMode, readTree, resolve, splitAtNul, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { FileChange } from '../action.ts';

/** A tree to read, at one commit. Paths are repository paths: `/` between parts, no leading slash. */
export interface TreeReader {
  /** Regular files, sorted; links and submodules are left out. */
  list(): Promise<string[]>;
  /** null where there is no such regular file. */
  read(path: string): Promise<Uint8Array | null>;
}

/** With what a reader leaves out. */
export interface WholeTree extends TreeReader {
  /** Paths of links and submodules. */
  others(): Promise<readonly string[]>;
}

/** The list is read once. */
export function treeReader(gitDir: string, treeish: string): WholeTree {
  const isRegular = ({ mode }: TreeEntry) => mode !== linkMode && mode !== submoduleMode;
  let entries: Promise<TreeEntry[]> | undefined;
  let files: Promise<Map<string, TreeEntry>> | undefined;
  function all(): Promise<TreeEntry[]> {
    entries ??= readTree(gitDir, treeish);
    return entries;
  }
  function regularFiles(): Promise<Map<string, TreeEntry>> {
    files ??= all().then((found) => new Map(found.filter(isRegular).map((entry) => [entry.path, entry])));
    return files;
  }
  return {
    async list() {
      return [...(await regularFiles()).keys()].sort();
    },
    async others() {
      return (await all()).filter((entry) => !isRegular(entry)).map(({ path }) => path);
    },
    async read(path) {
      const entry = (await regularFiles()).get(path);
      return entry === undefined ? null : readObject(gitDir, entry.id);
    },
  };
}

/** The patch from one tree to another, renames shown, that `applyPatchToTree` turns into exactly `tree` again. */
export async function patchBetween(gitDir: string, base: string, tree: string): Promise<Buffer> {
  if (base === tree) return Buffer.alloc(0);
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

/** Sizes in bytes of files of a tree; of paths with a line break none. */
export async function fileSizes(
  gitDir: string,
  tree: string,
  paths: readonly string[],
): Promise<Map<string, number>> {
  const named = paths.filter((path) => !path.includes('\n'));
  const input = named.map((path) => `${tree}:${path}\n`).join('');
  const { stdout } = await git(['cat-file', '--batch-check=%(objectsize)'], { gitDir, input });
  const answers = stdout.toString('utf8').split('\n');
  return new Map(
    named.flatMap((path, index) =>
      /^\d+$/.test(answers[index] ?? '') ? [[path, Number(answers[index])]] : [],
    ),
  );
}

const statusNames: Readonly<Record<string, FileChange['status']>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
};

function modeOrNull(mode: string): string | null {
  return mode === '000000' ? null : mode;
}

function countOrNull(count: string): number | null {
  return count === '-' ? null : Number(count);
}

/**
 * What jj cannot see or a person would miss in its working copy; a repository with any of it is worked on with the git
 * adapter. Line ending attributes do not count: both adapters write the recorded bytes.
 */
export interface Specials {
  readonly lfs: boolean;
  readonly submodules: boolean;
  /** Attributes that name a filter or change the encoding. */
  readonly filters: boolean;
  /** SHA-256 objects, or file names that are not UTF-8. */
  readonly foreign: boolean;
}

export async function detectSpecials(gitDir: string, commit: string): Promise<Specials> {
  const entries = await readTree(gitDir, commit);
  const rules = entries.filter(
    ({ path, mode }) => /(^|\/)\.gitattributes$/.test(path) && mode.startsWith('100'),
  );
  let lfs = false;
  let filters = false;
  for await (const { bytes } of readObjects(
    gitDir,
    rules.map(({ id }) => id),
  )) {
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => !line.trimStart().startsWith('#'));
    lfs ||= lines.some((line) => /\sfilter=lfs(\s|$)/.test(line));
    filters ||= lines.some((line) => /\s(filter=|working-tree-encoding=|ident(\s|$))/.test(line));
  }
  return {
    lfs,
    submodules: entries.some(({ mode }) => mode === submoduleMode),
    filters,
    foreign: commit.length === 64 || entries.some(({ path, bytes }) => !Buffer.from(path).equals(bytes)),
  };
}

export function isSpecial(specials: Specials): boolean {
  return Object.values(specials).some(Boolean);
}

/**
 * The object that a full ref name of a repository of ours stands for; null where there is none. From the ref's own file where it
 * has one, because this is asked so often that starting git for it counts; else as git sees it.
 */
export async function refObject(gitDir: string, ref: string): Promise<string | null> {
  return ownFile(gitDir, ref) ?? (await resolve(gitDir, ref));
}

/** True if a ref has a file that names an object, so that it is not an alias of another ref. */
export function isPlainRef(gitDir: string, ref: string): boolean {
  return ownFile(gitDir, ref) !== null;
}

function ownFile(gitDir: string, ref: string): string | null {
  // No name of git's, and it might lead out of the folder.
  if (ref.includes('..')) return null;
  try {
    if (statSync(join(gitDir, ref)).isDirectory()) return null;
    const text = readSmallFile(join(gitDir, ref), { encoding: 'latin1' });
    return /^([0-9a-f]{40}|[0-9a-f]{64})\n$/.exec(text)?.[1] ?? null;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
    throw error;
  }
}
