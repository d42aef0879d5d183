import { fileURLToPath } from 'node:url';
import { Language, Parser, type Tree } from 'web-tree-sitter';
import { Failed } from '#kit/errors.ts';
import { type SecretFinder, secretFinder } from '#kit/redaction/secret-finder.ts';
import { mentionsOfDocument, sectionsOf } from './documents.ts';
import type { Extraction, Part } from './extraction.ts';
import { referencesIn, type Stretch } from './identifiers.ts';
import { importsOf } from './import-statements.ts';
import {
  type CodeLanguage,
  grammars,
  isCode,
  isDocument,
  type LanguageName,
  languageOf,
} from './languages.ts';
import { type LocalNames, localNamesOf } from './local-names.ts';
import { moduleFactsOf, servicesOf } from './package-facts.ts';
import { symbolParts, symbolsOf } from './symbols.ts';
import { countLines, cut, simpleName, textOf } from './text.ts';
import { betweenSymbols, windowsOf } from './windows.ts';

/** Goes up when the same file gives other parts, or has other secrets, so that what an older one read is read again. */
export const extractorVersion = 8;

const maxTextLength = 200_000;
/** Of what programs wrote for programs, the beginning says what it is. */
const maxGeneratedLength = 2_000;

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
    if (isGenerated(path, text))
      return { ...textAlone('text', text, []), text: cut(text, maxGeneratedLength) };
    if (isDocument(language)) {
      const parts = sectionsOf(language, text);
      return { ...textAlone(language, text, parts), mentions: mentionsOfDocument(text, parts) };
    }
    if (!isCode(language)) return otherText(path, text);
    const tree = plainly ? null : await this.#grammars.parse(language, text);
    if (tree === null) return textAlone(language, text, windowsOf(path, text));
    try {
      const local = localNamesOf(language, await this.#grammars.languageOf(language), tree);
      return code(path, language, text, tree, local);
    } finally {
      tree.delete();
    }
  }
}

function code(
  path: string,
  language: CodeLanguage,
  text: string,
  tree: Tree,
  local: LocalNames | null,
): Extraction {
  const symbols = symbolsOf(language, tree);
  const parts =
    symbols.length === 0 ? windowsOf(path, text) : withRest(path, text, symbolParts(text, symbols));
  const stretches = symbols.map(({ from, to, name }, part): Stretch => {
    return { from, to, part, name: simpleName(name) };
  });
  const imports = importsOf(language, text);
  const imported = new Set(imports.flatMap(({ names }) => names));
  return {
    ...textAlone(language, text, parts),
    imports,
    references: local === null ? [] : referencesIn(language, text, stretches, local, imported),
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
    text: cut(text, maxTextLength),
    parts,
    imports: [],
    references: [],
    mentions: [],
    module: null,
  };
}

const lockFiles =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum|packages\.lock\.json)$/;

/** Lock files, and what a minifier wrote: long, and hardly a line in it. */
function isGenerated(path: string, text: string): boolean {
  if (lockFiles.test(path)) return true;
  return text.length > 20_000 && text.length / countLines(text) > 500;
}

const maxParseMs = 3_000;

/** Parsers of all languages, each loaded when it is first needed. */
class Grammars {
  readonly #languages = new Map<string, Promise<Language>>();
  #parser: Promise<Parser> | undefined;

  /**
   * The caller deletes the tree.
   * @returns null when parsing took too long
   * @throws Failed (`parser_broken`) after which no parser of this thread can be trusted
   */
  async parse(language: CodeLanguage, text: string): Promise<Tree | null> {
    const parser = await this.#ready();
    parser.setLanguage(await this.languageOf(language));
    const deadline = performance.now() + maxParseMs;
    try {
      const tree = parser.parse(text, null, { progressCallback: () => performance.now() > deadline });
      if (tree === null) parser.reset();
      return tree;
    } catch (cause) {
      throw new Failed('parser_broken', `the parser of ${language} failed`, { cause });
    }
  }

  #ready(): Promise<Parser> {
    this.#parser ??= Parser.init().then(() => new Parser());
    return this.#parser;
  }

  languageOf(language: CodeLanguage): Promise<Language> {
    const name = grammars[language];
    const url = import.meta.resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${name}.wasm`);
    const found = this.#languages.get(name) ?? Language.load(fileURLToPath(url));
    this.#languages.set(name, found);
    return found;
  }
}
