import { posix } from 'node:path';
import { type Places, within } from './places.ts';

const scriptEnds = [
  '.ts',
  '.tsx',
  '.d.ts',
  '.mts',
  '.cts',
  '.js',
  '.jsx',
  '.mjs',
  '.cjs',
  '.json',
  '.vue',
  '.svelte',
];

/** Relative paths, subpath imports (`#kit/…`), paths of tsconfig.json, and packages of the same repository. */
export function resolveJavascript(places: Places, from: string, module: string): string[] {
  const folder = posix.dirname(from);
  if (module.startsWith('.')) return scriptAt(places, within(folder, module));
  if (module.startsWith('#')) return subpathImport(places, folder, module);
  const aliased = alias(places, folder, module);
  return aliased.length > 0 ? aliased : ownPackage(places, module);
}

function scriptAt(places: Places, path: string | null): string[] {
  if (path === null) return [];
  const withoutEnd = path.replace(/\.[cm]?jsx?$/, '');
  return places.firstFile([
    path,
    ...scriptEnds.map((end) => `${path}${end}`),
    // TypeScript is imported by the name that its compiled file will have.
    ...(withoutEnd === path
      ? []
      : ['.ts', '.tsx', '.mts', '.cts', '.d.ts'].map((end) => `${withoutEnd}${end}`)),
    ...scriptEnds.map((end) => posix.join(path, `index${end}`)),
  ]);
}

function subpathImport(places: Places, folder: string, module: string): string[] {
  for (const up of places.foldersUp(folder)) {
    const imports = places.packages.get(up || '.')?.imports ?? {};
    for (const [pattern, target] of Object.entries(imports)) {
      const path = matched(module, pattern, target);
      if (path !== null) return scriptAt(places, within(up, path));
    }
  }
  return [];
}

/** The configuration of the nearest folder that has one, as compilers do, else of those above it. */
function alias(places: Places, folder: string, module: string): string[] {
  for (const up of places.foldersUp(folder)) {
    for (const [pattern, target] of places.aliases.get(up || '.') ?? []) {
      const path = matched(module, pattern, target);
      const found = path === null ? [] : scriptAt(places, within(up, path));
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** The target of a pattern with at most one `*`; null where the module does not match it. */
function matched(module: string, pattern: string, target: string): string | null {
  const [before, after] = pattern.split('*') as [string, string?];
  if (after === undefined) return module === pattern ? target : null;
  if (!module.startsWith(before) || !module.endsWith(after)) return null;
  return target.replaceAll('*', () => module.slice(before.length, module.length - after.length));
}

function ownPackage(places: Places, module: string): string[] {
  const name = /^(@[^/]+\/[^/]+|[^/]+)/.exec(module)?.[0];
  for (const [folder, { name: own, main }] of places.packages) {
    if (own === null || own !== name) continue;
    const rest = module.slice(name.length + 1);
    const starts =
      rest === ''
        ? [main ?? 'index', 'src/index', 'src/main', 'lib/index']
        : [rest, `src/${rest}`, `lib/${rest}`];
    for (const start of starts) {
      const found = scriptAt(places, within(folder, start));
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** A package is a folder. */
export function resolveGo(places: Places, _from: string, module: string): string[] {
  for (const { folder, name } of places.goModules) {
    if (module !== name && !module.startsWith(`${name}/`)) continue;
    const target = within(folder, module.slice(name.length + 1));
    if (target !== null && places.folders.has(target)) return [target];
  }
  return [];
}

const mostOfNamespace = 30;

/** The files of a namespace, or its folders where they are many; the file of a class (`using static A.B.Class`). */
export function resolveCsharp(places: Places, _from: string, module: string): string[] {
  const files = places.namespaces.get(module) ?? fileOfClass(places, module);
  if (files.length <= mostOfNamespace) return files;
  return [...new Set(files.map((path) => posix.dirname(path)))].filter((folder) =>
    places.folders.has(folder),
  );
}

function fileOfClass(places: Places, name: string): string[] {
  const [, namespace, simple] = /^(.+)\.(\w+)$/.exec(name) ?? [];
  const beside = places.namespaces.get(namespace ?? '') ?? [];
  return beside.filter((path) => posix.basename(path) === `${simple}.cs`);
}

/** Beside the file, else in one of the folders above it or their `include` and `src`, else the only one that ends so. */
export function resolveInclude(places: Places, from: string, module: string): string[] {
  for (const up of places.foldersUp(posix.dirname(from))) {
    const candidates = ['', 'include', 'src', 'lib'].flatMap(
      (folder) => within(posix.join(up, folder), module) ?? [],
    );
    const found = places.firstFile(candidates);
    if (found.length > 0) return found;
  }
  return places.endingWith(posix.normalize(module).replace(/^(\.\.\/)+/, ''));
}

/** A path of `require`, else a class: the longest end of its name that is a file. */
export function resolvePhp(places: Places, from: string, module: string): string[] {
  if (!module.includes('\\') && /\.\w+$/.test(module)) {
    const path = within(posix.dirname(from), module);
    const found = path === null ? [] : places.firstFile([path]);
    return found.length > 0 ? found : places.endingWith(module.replace(/^(\.\.?\/)+/, ''));
  }
  const parts = module.split('\\').filter((part) => part !== '');
  for (let first = 0; first < parts.length; first++) {
    const found = places.endingWith(`${parts.slice(first).join('/')}.php`);
    if (found.length > 0 && (first < parts.length - 1 || parts.length === 1)) return found;
  }
  return [];
}
