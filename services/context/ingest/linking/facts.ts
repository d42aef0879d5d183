import { posix } from 'node:path';
import type { Extraction, Import, NamesOfPart } from '../extraction/extraction.ts';
import type { LanguageName } from '../extraction/languages.ts';

export interface NamesInUse {
  /** Id of the node that uses them. */
  readonly of: string;
  readonly names: readonly string[];
}

/** What a file takes from others. */
export interface Uses {
  readonly imports: readonly Import[];
  readonly references: readonly NamesInUse[];
  readonly mentions: readonly NamesInUse[];
}

/** What is kept of a file to link it. */
export interface LinkFacts {
  readonly language: LanguageName;
  /** null: it says nothing about how it is imported. */
  readonly module: string | null;
  readonly uses: string;
}

/** @param ids of the file's parts, in their order; @param file the file's own */
export function factsOf(
  { language, module, imports, references, mentions }: Extraction,
  file: string,
  ids: readonly string[],
): LinkFacts {
  const named = (names: readonly NamesOfPart[]) =>
    names.map(({ part, names }) => [part < 0 ? file : ids[part]!, names.join(' ')]);
  const uses = [
    imports.map(({ module, names }) => [module, names.join(' ')]),
    named(references),
    named(mentions),
  ];
  return { language, module: module === null ? null : JSON.stringify(module), uses: JSON.stringify(uses) };
}

/** The simple names of all that is used or mentioned, each once. */
export function namesIn({ references, mentions }: Uses): string[] {
  const names = [
    ...references.flatMap(({ names }) => names),
    ...mentions.flatMap(({ names }) => names.map(simpleMention)),
  ];
  return [...new Set(names.map((name) => name.slice(name.lastIndexOf('.') + 1)))].filter(
    (name) => name !== '',
  );
}

/** The pieces of the paths and modules that are imported or mentioned, each once behind a slash, which no name has. */
export function piecesIn({ imports, mentions }: Uses): string[] {
  const paths = [...imports.map(({ module }) => module), ...mentions.flatMap(({ names }) => names)];
  return [...new Set(paths.flatMap(pieces))].map((piece) => `/${piece}`);
}

/** What stands in every path or module that may lead to a file or folder, as `piecesIn` gives it; null where anything may. */
export function pieceOf(path: string): string | null {
  const [first = ''] = pieces(posix.basename(path));
  return /^(index|main|lib|mod|__init__|)$/.test(first) ? null : `/${first}`;
}

function pieces(path: string): string[] {
  return path.split(/[./\\:#\s]+/).filter((piece) => piece !== '');
}

/** The last part of a name that somebody wrote in a text, qualified in any language's way; empty where it can be no name. */
export function simpleMention(text: string): string {
  const simple = text.split(/::|[.#]|->/).at(-1)!;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(simple) ? simple : '';
}

export function readUses(facts: string): Uses {
  const [imports, references, mentions] = JSON.parse(facts) as [
    [string, string][],
    [string, string][],
    [string, string][],
  ];
  const named = (entries: [string, string][]) =>
    entries.map(([of, names]) => ({ of, names: names.split(' ') }));
  return {
    imports: imports.map(([module, names]) => ({ module, names: names === '' ? [] : names.split(' ') })),
    references: named(references),
    mentions: named(mentions),
  };
}
