import type { Extraction, ModuleFacts, NamesOfPart } from '../extraction/extraction.ts';
import type { LanguageName } from '../extraction/languages.ts';

/** What a file gives to others. */
export interface Definitions {
  readonly language: LanguageName;
  /** Of symbols: qualified name, its count among the same, what it is, and the id of its node. */
  readonly symbols: readonly DefinedSymbol[];
  readonly module: ModuleFacts | null;
}

export interface DefinedSymbol {
  readonly name: string;
  readonly sort: string;
  readonly id: string;
}

/** What a file takes from others; `of` is the id of the node that uses the names. */
export interface Uses {
  readonly imports: readonly string[];
  readonly references: readonly { readonly of: string; readonly names: readonly string[] }[];
  readonly mentions: readonly { readonly of: string; readonly names: readonly string[] }[];
}

/** @param ids of the file's parts, in their order; @param file the file's own */
export function factsOf(
  { language, parts, module, imports, references, mentions }: Extraction,
  file: string,
  ids: readonly string[],
): { definitions: string; uses: string } {
  const symbols = parts.flatMap(({ node, name, sort }, at) =>
    node === 'symbol' ? [[name, sort, ids[at]!]] : [],
  );
  const named = (names: readonly NamesOfPart[]) =>
    names.map(({ part, names }) => [part < 0 ? file : ids[part]!, names.join(' ')]);
  return {
    definitions: JSON.stringify([language, symbols, module]),
    uses: JSON.stringify([imports, named(references), named(mentions)]),
  };
}

export function readDefinitions(facts: string): Definitions {
  const [language, symbols, module] = JSON.parse(facts) as [
    LanguageName,
    [string, string, string][],
    ModuleFacts | null,
  ];
  return { language, symbols: symbols.map(([name, sort, id]) => ({ name, sort, id })), module };
}

export function readUses(facts: string): Uses {
  const [imports, references, mentions] = JSON.parse(facts) as [
    string[],
    [string, string][],
    [string, string][],
  ];
  const named = (entries: [string, string][]) =>
    entries.map(([of, names]) => ({ of, names: names.split(' ') }));
  return { imports, references: named(references), mentions: named(mentions) };
}
