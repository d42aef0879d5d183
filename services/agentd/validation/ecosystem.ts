import type { ValidationCommand } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';

/** What one kind of project at the root of a repository needs. */
export interface Ecosystem {
  /** For the names of its commands where several kinds are found: `npm`, `cargo`. */
  readonly name: string;
  /** Files that decided, for example `package.json`. */
  readonly found: readonly string[];
  readonly prepare: readonly ValidationCommand[];
  readonly prepared_paths: readonly string[];
  readonly lockfiles: readonly string[];
  /** null when it has no tests of its own: its dependencies may still be needed by a Makefile. */
  readonly test: string | null;
}

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

/** Where preparing keeps what package managers download; below the workspace, so that it can be mounted read-only. */
export const cacheFolder = '.core-cache';
