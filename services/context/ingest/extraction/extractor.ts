import type { Tree } from 'web-tree-sitter';
import { type SecretFinder, secretFinder } from '#kit/redaction/secret-finder.ts';
import { betweenSymbols } from './between-symbols.ts';
import type { Extraction, NamesOfPart, Part } from './extraction.ts';
import { Grammars } from './grammars.ts';
import { referencesIn, type Stretch } from './identifiers.ts';
import { importsOf } from './import-statements.ts';
import { type CodeLanguage, isCode, isDocument, type LanguageName, languageOf } from './languages.ts';
import { mentionsIn } from './mentions.ts';
import { moduleFactsOf, servicesOf } from './package-facts.ts';
import { sectionsOf } from './sections.ts';
import { simpleName } from './simple-name.ts';
import { symbolParts } from './symbol-parts.ts';
import { symbolsOf } from './symbols.ts';
import { countLines, cut, textOf } from './text.ts';
import { windowsOf } from './windows.ts';

/** Goes up when the same file gives other parts, or has other secrets, so that what an older one read is read again. */
export const extractorVersion = 4;

const longestText = 200_000;
/** Of what programs wrote for programs, the beginning says what it is. */
const longestGenerated = 2_000;

/** Reads what is in a file, its secrets masked first, without any file system; keeps the grammars it needed. */
export class Extractor {
  readonly #grammars = new Grammars();
  readonly #secrets: Pick<SecretFinder, 'mask'>;

  constructor(secrets: Pick<SecretFinder, 'mask'> = secretFinder([])) {
    this.#secrets = secrets;
  }

  /**
   * @param plainly as text alone, for a file that broke the parser before
   * @returns null for a binary file
   * @throws Failed (`parser_broken`): give up this thread, and read the file plainly in the next
   */
  async extract(path: string, bytes: Buffer, plainly = false): Promise<Extraction | null> {
    const raw = textOf(bytes);
    if (raw === null) return null;
    const text = this.#secrets.mask(raw);
    const language = languageOf(path);
    if (isGenerated(path, text)) return { ...textAlone('text', text, []), text: cut(text, longestGenerated) };
    if (isDocument(language)) {
      const parts = sectionsOf(language, text);
      return { ...textAlone(language, text, parts), mentions: mentionsOfDocument(text, parts) };
    }
    if (!isCode(language)) return otherText(path, text);
    const tree = plainly ? null : await this.#grammars.parse(language, text);
    if (tree === null) return textAlone(language, text, windowsOf(path, text));
    try {
      return code(path, language, text, tree);
    } finally {
      tree.delete();
    }
  }
}

function code(path: string, language: CodeLanguage, text: string, tree: Tree): Extraction {
  const symbols = symbolsOf(language, tree);
  const parts =
    symbols.length === 0 ? windowsOf(path, text) : withRest(path, text, symbolParts(text, symbols));
  const stretches = symbols.map(({ from, to, name }, part): Stretch => {
    return { from, to, part, name: simpleName(name) };
  });
  return {
    ...textAlone(language, text, parts),
    imports: importsOf(language, text),
    references: referencesIn(language, text, stretches),
    module: moduleFactsOf(path, text),
  };
}

/** Symbols first, so that their places stay. */
function withRest(path: string, text: string, symbols: readonly Part[]): Part[] {
  return [...symbols, ...betweenSymbols(path, text, symbols)];
}

function otherText(path: string, text: string): Extraction {
  const parts = [...servicesOf(path, text), ...windowsOf(path, text)];
  return { ...textAlone('text', text, parts), module: moduleFactsOf(path, text) };
}

function textAlone(language: LanguageName, text: string, parts: readonly Part[]): Extraction {
  return {
    language,
    lines: countLines(text),
    text: cut(text, longestText),
    parts,
    imports: [],
    references: [],
    mentions: [],
    module: null,
  };
}

function mentionsOfDocument(text: string, parts: readonly Part[]): NamesOfPart[] {
  const first = parts[0]?.start ?? Number.POSITIVE_INFINITY;
  const before = Number.isFinite(first) ? text.split('\n', first - 1).join('\n') : text;
  const bodies = [
    { part: -1, body: before },
    ...parts.map(({ title, body }, part) => ({ part, body: `${title}\n${body}` })),
  ];
  return bodies
    .map(({ part, body }) => ({ part, names: mentionsIn(body) }))
    .filter(({ names }) => names.length > 0);
}

const lockFiles =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum|packages\.lock\.json)$/;

/** Lock files, and what a minifier wrote: long, and hardly a line in it. */
function isGenerated(path: string, text: string): boolean {
  if (lockFiles.test(path)) return true;
  return text.length > 20_000 && text.length / countLines(text) > 500;
}
