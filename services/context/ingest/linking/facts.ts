import { posix } from 'node:path';
import type { Extraction, Import, NamesOfPart, Part } from '../extraction/extraction.ts';
import type { LanguageName } from '../extraction/languages.ts';

export interface NamesInUse {
  /** Id of the node that uses them. */
  readonly of: string;
  readonly names: readonly string[];
  /** Simple names of the types and modules around it, the innermost last. */
  readonly around: readonly string[];
}

/** What a file takes from others. */
export interface Uses {
  readonly imports: readonly Import[];
  readonly references: readonly NamesInUse[];
  readonly mentions: readonly Omit<NamesInUse, 'around'>[];
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
  { language, module, imports, references, mentions, parts }: Extraction,
  file: string,
  ids: readonly string[],
): LinkFacts {
  const named = (names: readonly NamesOfPart[]) =>
    names.map(({ part, names }) => [part < 0 ? file : ids[part]!, names.join(' ')]);
  const uses = [
    imports.map(({ module, names }) => [module, names.join(' ')]),
    references.map(({ part, names }) => {
      return [part < 0 ? file : ids[part]!, names.join(' '), part < 0 ? '' : around(parts[part]!).join(' ')];
    }),
    named(mentions),
  ];
  return { language, module: module === null ? null : JSON.stringify(module), uses: JSON.stringify(uses) };
}

const holdersOfCode = /^(class|interface|struct|union|enum|record|trait|annotation|namespace|module)$/;

function around({ name, sort }: Part): string[] {
  const names = name.split(/::|\./).map((one) => one.replace(/<[\s\S]*$/, '').trim());
  const holders = holdersOfCode.test(sort) ? names : names.slice(0, -1);
  return holders.filter((one) => /^\S+$/.test(one));
}

/** The simple names of all that is used or mentioned, each once. */
export function namesIn({ references, mentions }: Uses): string[] {
  const names = [
    ...references.flatMap(({ names }) => names),
    ...mentions.flatMap(({ names }) => names.map(simpleMention)),
  ];
  return [...new Set(names.map((name) => usedName(name).name))].filter((name) => name !== '');
}

export interface UsedName {
  /** null: the name stands alone; empty: a member of something without a name. */
  readonly receiver: readonly string[] | null;
  readonly name: string;
  /** `()` of a call, `!` of a macro's call. */
  readonly form: string;
}

/** Reads a name as extraction/identifiers.ts writes it. */
export function usedName(text: string): UsedName {
  const [, form = ''] = /(\(\)|!)$/.exec(text) ?? [];
  const parts = text.slice(0, text.length - form.length).split('.');
  const name = parts.pop()!;
  return { receiver: parts.length === 0 ? null : parts.filter((part) => part !== ''), name, form };
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
    [string, string, string?][],
    [string, string][],
  ];
  const split = (names = '') => (names === '' ? [] : names.split(' '));
  return {
    imports: imports.map(([module, names]) => ({ module, names: split(names) })),
    references: references.map(([of, names, around]) => {
      return { of, names: split(names), around: split(around) };
    }),
    mentions: mentions.map(([of, names]) => ({ of, names: split(names) })),
  };
}
