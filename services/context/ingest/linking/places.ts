import { posix } from 'node:path';
import type { ModuleFacts } from '../extraction/extraction.ts';

/** Every file and folder of a repository, as import rules look for them. */
export class Places {
  readonly files: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
  readonly #byName: ReadonlyMap<string, readonly string[]>;
  /** By folder: the package.json there. */
  readonly packages = new Map<string, ModuleFacts>();
  /** By folder: what its tsconfig.json calls paths, the longest patterns first. */
  readonly aliases = new Map<string, readonly (readonly [pattern: string, target: string])[]>();
  /** By namespace: the C# files that begin with it. */
  readonly namespaces = new Map<string, string[]>();
  /** By name: the folder with the Cargo.toml. */
  readonly crates = new Map<string, string>();
  readonly goModules: { readonly folder: string; readonly name: string }[] = [];

  constructor(paths: readonly string[]) {
    this.files = new Set(paths);
    this.#byName = Map.groupBy(paths, (path) => posix.basename(path));
    const folders = new Set<string>();
    for (const path of paths)
      for (const folder of this.foldersUp(posix.dirname(path))) if (folder !== '') folders.add(folder);
    this.folders = folders;
  }

  /** Keeps what import rules need to know of a file. */
  addModule(path: string, module: ModuleFacts): void {
    const [folder, name] = [posix.dirname(path), posix.basename(path)];
    if (name === 'go.mod') this.goModules.push({ folder, name: module.name! });
    else if (name === 'Cargo.toml') this.crates.set(module.name!, folder);
    else if (name === 'package.json') this.packages.set(folder, module);
    else if (name.endsWith('.cs')) {
      const files = this.namespaces.get(module.name!);
      if (files === undefined) this.namespaces.set(module.name!, [path]);
      else files.push(path);
    } else {
      // Several configurations of one folder say what one alone would.
      const all = { ...Object.fromEntries(this.aliases.get(folder) ?? []), ...module.imports };
      const byLength = Object.entries(all).sort(([a], [b]) => b.length - a.length);
      this.aliases.set(folder, byLength);
    }
  }

  /** The first of these paths that is a file. */
  firstFile(candidates: readonly string[]): string[] {
    const found = candidates.find((path) => this.files.has(path));
    return found === undefined ? [] : [found];
  }

  /** Files whose path ends like this, at a slash; none where more than `max` do. */
  endingWith(end: string, max = 1): string[] {
    const suffix = `/${end}`;
    const found = (this.#byName.get(posix.basename(end)) ?? []).filter((path) => `/${path}`.endsWith(suffix));
    return found.length <= max ? found : [];
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
