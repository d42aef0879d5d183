import { posix } from 'node:path';
import type { ModuleFacts } from '../extraction/extraction.ts';

/** Every file and folder of a repository, as import rules look for them. */
export class Places {
  readonly files: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
  readonly #byName = new Map<string, string[]>();
  /** By folder: the package.json there. */
  readonly packages = new Map<string, ModuleFacts>();
  /** By folder: what its tsconfig.json calls paths, the longest patterns first. */
  readonly aliases = new Map<string, readonly (readonly [pattern: string, target: string])[]>();
  /** By namespace: the C# files that begin with it. */
  readonly namespaces = new Map<string, string[]>();
  readonly goModules: { readonly folder: string; readonly name: string }[] = [];

  constructor(paths: Iterable<string>) {
    this.files = new Set(paths);
    const folders = new Set<string>();
    for (const path of this.files) {
      const name = posix.basename(path);
      const same = this.#byName.get(name);
      if (same === undefined) this.#byName.set(name, [path]);
      else same.push(path);
      for (let folder = posix.dirname(path); folder !== '.' && !folders.has(folder); ) {
        folders.add(folder);
        folder = posix.dirname(folder);
      }
    }
    this.folders = folders;
  }

  /** The first of these paths that is a file. */
  firstFile(candidates: readonly string[]): string[] {
    const found = candidates.find((path) => this.files.has(path));
    return found === undefined ? [] : [found];
  }

  /** Files whose path ends like this, at a slash; none where more than `most` do. */
  endingWith(end: string, most = 1): string[] {
    const suffix = `/${end}`;
    const found = (this.#byName.get(posix.basename(end)) ?? []).filter((path) => `/${path}`.endsWith(suffix));
    return found.length <= most ? found : [];
  }

  /** The folder and those above it, innermost first, the root as an empty name. */
  *foldersUp(folder: string): Generator<string> {
    for (let one = folder; one !== '.' && one !== ''; one = posix.dirname(one)) yield one;
    yield '';
  }
}

/** Joined and without `..`; null where it would leave the repository. */
export function within(folder: string, path: string): string | null {
  const joined = posix.normalize(posix.join(folder, path)).replace(/\/$/, '');
  return joined === '..' || joined.startsWith('../') || joined.startsWith('/') ? null : joined;
}
