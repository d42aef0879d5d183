import type { Extraction, ModuleFacts, NamesOfPart } from '../extraction/extraction.ts';
import type { LanguageName } from '../extraction/languages.ts';

/** What a file gives to others. */
export interface Definitions {
  readonly language: LanguageName;
  readonly symbols: readonly {
    /** Qualified. */
    readonly name: string;
    readonly sort: string;
    /** Of its node. */
    readonly id: string;
  }[];
  readonly module: ModuleFacts | null;
}

export interface NamesInUse {
  /** Id of the node that uses them. */
  readonly of: string;
  readonly names: readonly string[];
}

/** What a file takes from others. */
export interface Uses {
  readonly imports: readonly string[];
  readonly references: readonly NamesInUse[];
  readonly mentions: readonly NamesInUse[];
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
