import { fileURLToPath } from 'node:url';
import { Language, Parser, type Tree } from 'web-tree-sitter';
import { Failed } from '#kit/errors.ts';
import { type CodeLanguage, grammars } from './languages.ts';

const longestParseMs = 3_000;

/** Parsers of all languages, each loaded when it is first needed. */
export class Grammars {
  readonly #languages = new Map<string, Promise<Language>>();
  #parser: Promise<Parser> | undefined;

  /**
   * The caller deletes the tree.
   * @returns null when parsing took too long
   * @throws Failed (`parser_broken`) after which no parser of this thread can be trusted
   */
  async parse(language: CodeLanguage, text: string): Promise<Tree | null> {
    const parser = await this.#ready();
    parser.setLanguage(await this.#languageOf(grammars[language]));
    const deadline = performance.now() + longestParseMs;
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

  #languageOf(name: string): Promise<Language> {
    const url = import.meta.resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${name}.wasm`);
    const found = this.#languages.get(name) ?? Language.load(fileURLToPath(url));
    this.#languages.set(name, found);
    return found;
  }
}
