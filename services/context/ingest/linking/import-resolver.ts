import { posix } from 'node:path';
import { familyOf, type LanguageName } from '../extraction/languages.ts';
import type { Definitions } from './facts.ts';
import { resolveCsharp, resolveGo, resolveInclude, resolveJavascript, resolvePhp } from './import-rules.ts';
import { resolveDotted, resolvePython, resolveRuby, resolveRust } from './import-rules-dotted.ts';
import type { Places } from './places.ts';

/** What an import may lead to: paths of files, or of a folder where the language imports folders. */
export type ImportRule = (places: Places, from: string, module: string) => readonly string[];

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

/** The files and folders of the repository that a file imports; what comes from elsewhere leads nowhere. */
export function resolveImports(
  places: Places,
  from: string,
  language: LanguageName,
  modules: readonly string[],
): Set<string> {
  const rule = rules[familyOf(language)];
  const found = new Set(rule === undefined ? [] : modules.flatMap((module) => rule(places, from, module)));
  found.delete(from);
  return found;
}

/** Collects what import rules need to know of the other files. */
export function rememberModule(places: Places, path: string, { module }: Definitions): void {
  if (module === null) return;
  const [folder, name] = [posix.dirname(path), posix.basename(path)];
  if (name === 'go.mod') places.goModules.push({ folder, name: module.name! });
  else if (name === 'package.json') places.packages.set(folder, module);
  else if (name.endsWith('.cs')) rememberNamespace(places, path, module.name!);
  else rememberAliases(places, folder, module.imports);
}

function rememberNamespace(places: Places, path: string, name: string): void {
  const before = places.namespaces.get(name);
  if (before === undefined) places.namespaces.set(name, [path]);
  else before.push(path);
}

/** Several configurations of one folder say what one alone would. */
function rememberAliases(places: Places, folder: string, imports: Readonly<Record<string, string>>): void {
  const all = { ...Object.fromEntries(places.aliases.get(folder) ?? []), ...imports };
  places.aliases.set(
    folder,
    Object.entries(all).sort(([a], [b]) => b.length - a.length),
  );
}
