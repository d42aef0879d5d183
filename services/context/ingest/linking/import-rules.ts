import { posix } from 'node:path';
import type { Import } from '../extraction/extraction.ts';
import { familyOf, type LanguageName } from '../extraction/languages.ts';
import { type Places, within } from './places.ts';

/** What an import may lead to: paths of files, or of a folder where the language imports folders. */
type ImportRule = (places: Places, from: string, module: string) => readonly string[];

/** By family of languages. */
const rules: Readonly<Record<string, ImportRule>> = {
  javascript: resolveJavascript,
  python: resolvePython,
  go: resolveGo,
  rust: resolveRust,
  java: (places, _from, module) => resolveDotted(places, module, '.java'),
  cpp: resolveInclude,
  csharp: resolveCsharp,
  ruby: resolveRuby,
  php: resolvePhp,
};

export interface Resolved {
  /** The files and folders of the repository that a file imports. */
  readonly places: ReadonlySet<string>;
  /** Names in the file for what it imports from there, with where that is. */
  readonly inside: ReadonlyMap<string, ReadonlySet<string>>;
  /** Those whose every name the file may take, by `*` or an include. */
  readonly whole: ReadonlySet<string>;
  /** And from elsewhere. */
  readonly outside: ReadonlySet<string>;
}

/** Where what a file imports lies. */
export function resolveImports(
  places: Places,
  from: string,
  language: LanguageName,
  imports: readonly Import[],
): Resolved {
  const rule = rules[familyOf(language)];
  const standard = language === 'rust' ? ['std', 'core', 'alloc'] : [];
  const inside = new Map<string, Set<string>>();
  const found = { places: new Set<string>(), inside, whole: new Set<string>(), outside: new Set(standard) };
  if (rule === undefined) return found;
  for (const { module, names } of imports) {
    const paths = rule(places, from, module);
    for (const path of paths) if (path !== from) found.places.add(path);
    if (names.length === 0) for (const path of paths) found.whole.add(path);
    for (const name of names) {
      if (paths.length === 0) found.outside.add(name);
      else inside.set(name, new Set([...(inside.get(name) ?? []), ...paths]));
    }
  }
  for (const name of inside.keys()) found.outside.delete(name);
  return found;
}

const scriptEnds = '.ts .tsx .d.ts .mts .cts .js .jsx .mjs .cjs .json .vue .svelte'.split(' ');
const typescriptEnds = ['.ts', '.tsx', '.mts', '.cts', '.d.ts'];

/** Relative paths, subpath imports (`#kit/…`), paths of tsconfig.json, and packages of the same repository. */
function resolveJavascript(places: Places, from: string, module: string): string[] {
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
    ...(withoutEnd === path ? [] : typescriptEnds.map((end) => `${withoutEnd}${end}`)),
    ...mainOf(places, path),
    ...scriptEnds.map((end) => posix.join(path, `index${end}`)),
  ]);
}

/** What the package.json of a folder names as its main file, in every way to write it. */
function mainOf(places: Places, folder: string): string[] {
  const main = places.packages.get(folder)?.main ?? null;
  const path = main === null ? null : within(folder, main);
  if (path === null) return [];
  return [path, ...scriptEnds.flatMap((end) => [`${path}${end}`, posix.join(path, `index${end}`)])];
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

/** A package is a folder, also that of the module itself; of nested modules the innermost has it. */
function resolveGo(places: Places, _from: string, module: string): string[] {
  const modules = places.goModules.filter(({ name }) => module === name || module.startsWith(`${name}/`));
  for (const { folder, name } of modules.sort((a, b) => b.name.length - a.name.length)) {
    const target = within(folder, module.slice(name.length + 1));
    if (target !== null && (target === '.' || places.folders.has(target))) return [target];
  }
  return [];
}

const maxNamespaceFiles = 30;

/** The files of a namespace, or its folders where they are many; the file of a class (`using static A.B.Class`). */
function resolveCsharp(places: Places, _from: string, module: string): string[] {
  const files = places.namespaces.get(module) ?? fileOfClass(places, module);
  if (files.length <= maxNamespaceFiles) return files;
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
function resolveInclude(places: Places, from: string, module: string): string[] {
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
function resolvePhp(places: Places, from: string, module: string): string[] {
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

/** `.a.b` from the folder of the file, one more dot for each folder above; `a.b` from any folder above the file, or its `src`. */
function resolvePython(places: Places, from: string, module: string): string[] {
  const [, dots, path] = /^(\.*)(.*)$/.exec(module)!;
  const parts = path!.split('.').filter((part) => part !== '');
  const folder = posix.dirname(from);
  if (dots !== '') {
    const base = within(folder, '../'.repeat(dots!.length - 1));
    return base === null ? [] : pythonModule(places, base, parts, 0);
  }
  for (const up of places.foldersUp(folder)) {
    for (const root of [up, posix.join(up, 'src'), posix.join(up, 'lib')]) {
      const found = pythonModule(places, root, parts, 1);
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** The last part may be a module or a name in one. @param min parts that must be there: `import os` is not of the package around it */
function pythonModule(places: Places, base: string, parts: readonly string[], min: number): string[] {
  for (const length of [parts.length, parts.length - 1]) {
    if (length < min || (length === 0 && parts.length > 1)) continue;
    const path = posix.join(base, ...parts.slice(0, length));
    const found = places.firstFile([`${path}.py`, `${path}.pyi`, posix.join(path, '__init__.py')]);
    if (found.length > 0) return found;
  }
  return [];
}

/** `a.b.C` is `a/b/C.java` under some folder; the last part may be a member. */
function resolveDotted(places: Places, module: string, end: string): string[] {
  const parts = module.split('.').filter((part) => part !== '');
  for (const length of [parts.length, parts.length - 1]) {
    if (length < 2) break;
    const found = places.endingWith(`${parts.slice(0, length).join('/')}${end}`, 2);
    if (found.length > 0) return found;
  }
  return [];
}

/** A path beside the file, else under some `lib` or `app`. */
function resolveRuby(places: Places, from: string, module: string): string[] {
  const path = module.endsWith('.rb') ? module : `${module}.rb`;
  if (path.startsWith('.')) return places.firstFile([within(posix.dirname(from), path) ?? '']);
  const inFolder = places.firstFile(['lib', 'app', ''].map((folder) => posix.join(folder, path)));
  return inFolder.length > 0 ? inFolder : places.endingWith(path);
}

/** `mod name` below the file; `crate::a::B` from the crate's `src`, `self` and `super` from the file's own module, else a crate of the repository. */
function resolveRust(places: Places, from: string, module: string): string[] {
  const own = moduleFolder(from);
  const declared = /^mod (\w+)$/.exec(module)?.[1];
  if (declared !== undefined) return rustModule(places, own, [declared]);
  const parts = module.split('::').filter((part) => part !== '');
  const first = parts.shift();
  if (first === 'crate') return inModule(places, crateFolder(from), parts);
  if (first === 'self') return inModule(places, own, parts);
  if (first !== 'super') {
    const crate = places.crates.get(first ?? '');
    return crate === undefined ? [] : inModule(places, posix.join(crate, 'src'), parts);
  }
  let folder = posix.dirname(own);
  for (; parts[0] === 'super'; parts.shift()) folder = posix.dirname(folder);
  return inModule(places, folder, parts);
}

/** What no module below it has is in its own file. */
function inModule(places: Places, folder: string, parts: readonly string[]): string[] {
  const found = rustModule(places, folder, parts);
  if (found.length > 0) return found;
  const root = ['lib.rs', 'main.rs'].map((name) => posix.join(folder, name));
  return places.firstFile([`${folder}.rs`, posix.join(folder, 'mod.rs'), ...root]);
}

function rustModule(places: Places, folder: string, parts: readonly string[]): string[] {
  for (let length = parts.length; length > 0; length--) {
    const path = posix.join(folder, ...parts.slice(0, length));
    const found = places.firstFile([`${path}.rs`, posix.join(path, 'mod.rs')]);
    if (found.length > 0) return found;
  }
  return [];
}

/** Where the modules below a file lie: `a/b.rs` has them in `a/b`. */
function moduleFolder(path: string): string {
  const folder = posix.dirname(path);
  const name = posix.basename(path, '.rs');
  return name === 'mod' || name === 'lib' || name === 'main' ? folder : posix.join(folder, name);
}

function crateFolder(path: string): string {
  const parts = path.split('/');
  const src = parts.lastIndexOf('src');
  return src < 0 ? posix.dirname(path) : parts.slice(0, src + 1).join('/');
}
