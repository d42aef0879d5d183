import { posix } from 'node:path';
import { minimatch } from 'minimatch';
import { shellWord } from '#kit/shell-word.ts';
import type { ValidationCommand } from '../../action.ts';
import type { TreeReader } from '../../git/tree.ts';
import type { FileKind } from '../file-kinds.ts';

/** One project of a repository, at its root or in a folder. */
export interface Project {
  /** For the names of its commands where several projects are found: `npm`, `cargo`. */
  readonly name: string;
  /** `''` is the root. */
  readonly folder: string;
  /** Files that decided, for example `package.json`. */
  readonly found: readonly string[];
  readonly prepare: readonly ValidationCommand[];
  readonly prepared_paths: readonly string[];
  readonly lockfiles: readonly string[];
  /** None when it has no tests of its own: its dependencies may still be needed by a Makefile. */
  readonly tests: readonly ProjectTest[];
  readonly without_tests: readonly WithoutTests[];
}

export interface ProjectTest {
  readonly run: string;
  readonly covers: readonly CoveredFolder[];
}

/** Files of these kinds below a folder, except those in other folders below it. */
export interface CoveredFolder {
  readonly folder: string;
  readonly except: readonly string[];
  /** None for a command that runs no tests. */
  readonly files: readonly FileKind[];
  /** Paths that its tests are taken from; all of its folder if undefined. */
  readonly test_paths?: readonly string[];
}

/** Files of these kinds that no command tests, and why. */
export interface WithoutTests {
  readonly folder: string;
  readonly files: readonly FileKind[];
  readonly why: string;
  /** Which of them a command may test nevertheless: all, or code and no test files. */
  readonly may_test?: 'all' | 'code';
}

export type Detector = (files: Files) => Promise<Project[]>;

/** The files of a tree, listed once. */
export interface Files {
  readonly all: readonly string[];
  has(path: string): boolean;
  /** Text without a byte order mark; empty where there is no such file. */
  text(path: string): Promise<string>;
}

export async function filesOf(tree: TreeReader): Promise<Files> {
  const all = await tree.list();
  const known = new Set(all);
  return {
    all,
    has: (path) => known.has(path),
    async text(path) {
      const bytes = known.has(path) ? await tree.read(path) : null;
      return bytes === null
        ? ''
        : Buffer.from(bytes)
            .toString('utf8')
            .replace(/^\uFEFF/, '');
    },
  };
}

/** Where preparing keeps what package managers download; below the project, so that it can be mounted read-only. */
const cacheFolder = '.core-cache';
/** In a command that runs in the project's folder. */
export const cache = `"$PWD/${cacheFolder}"`;

export function cacheOf(folder: string): string {
  return posix.join(folder, cacheFolder);
}

/** Folders of code that is not the repository's own, or is an input of tests. */
const foreign =
  /(^|\/)(node_modules|vendor|third_party|testdata|test-data|fixtures?|__fixtures__|test-fixtures|\.venv|site-packages|target|dist)(\/|$)|\{\{/;

/** Characters that mean something to a shell within quotes. */
const unquotable = /["'$`\\\n]/;

/** Folders with one of these files, parents first, without those in other people's code and in inputs of tests. */
export function foldersWith(files: Files, ...names: readonly string[]): string[] {
  const found = files.all.filter((path) => names.includes(posix.basename(path))).map(folderOf);
  return [...new Set(found)].filter((folder) => !foreign.test(folder) && !unquotable.test(folder)).sort();
}

export function folderOf(path: string): string {
  const folder = posix.dirname(path);
  return folder === '.' ? '' : folder;
}

export function isBelow(path: string, folder: string): boolean {
  return folder === '' ? path !== '' : path.startsWith(`${folder}/`);
}

/** The nearest of these folders that holds a folder; undefined where none does. */
export function nearest(folder: string, folders: readonly string[]): string | undefined {
  return folders.filter((one) => isBelow(folder, one)).toSorted((a, b) => b.length - a.length)[0];
}

/** A line that runs in a folder of the workspace. */
export function inFolder(folder: string, line: string): string {
  return folder === '' ? line : `(cd ${shellWord(folder)} && ${line})`;
}

/** Files that a folder has, by their whole paths. */
export function present(files: Files, folder: string, names: readonly string[]): string[] {
  return names.map((name) => posix.join(folder, name)).filter(files.has);
}

/** True if a folder fits the globs of a workspace at `root`; a `!` takes out what those before it let in. */
export function fitsGlobs(folder: string, root: string, globs: readonly string[]): boolean {
  const name = posix.relative(root, folder);
  let fits = false;
  for (const glob of globs) {
    const out = glob.startsWith('!');
    const pattern = posix.normalize(glob.slice(out ? 1 : 0)).replace(/\/$/, '');
    if (minimatch(name, pattern)) fits = !out;
  }
  return fits;
}

export function unique(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}
