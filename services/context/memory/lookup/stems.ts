import { DatabaseSync, type StatementSync } from 'node:sqlite';

const mostKnown = 50_000;

/**
 * The terms under which the index has words, made by the same tokenizer: an index in memory that only ever holds the words at hand.
 */
export class Stems {
  readonly #db = new DatabaseSync(':memory:');
  readonly #put: StatementSync;
  readonly #terms: StatementSync;
  readonly #known = new Map<string, readonly string[]>();

  constructor() {
    this.#db.exec(`
      CREATE VIRTUAL TABLE words USING fts5(word, tokenize='porter unicode61');
      CREATE VIRTUAL TABLE terms USING fts5vocab(words, instance);`);
    this.#put = this.#db.prepare('INSERT INTO words (rowid, word) VALUES (?, ?)');
    this.#terms = this.#db.prepare('SELECT doc, term FROM terms');
  }

  /** Learns all of these words at once, which is cheaper than one after the other. */
  learn(words: Iterable<string>): void {
    const asked = new Set(words);
    const unknown = [...asked].filter((word) => !this.#known.has(word));
    if (unknown.length > 0) this.#learn(unknown, asked);
  }

  /** The terms of a word: mostly one, several where the tokenizer splits it, none where it has nothing to index. */
  of(word: string): readonly string[] {
    if (!this.#known.has(word)) this.learn([word]);
    return this.#known.get(word)!;
  }

  #learn(unknown: readonly string[], asked: ReadonlySet<string>): void {
    if (this.#known.size + unknown.length > mostKnown) {
      for (const word of this.#known.keys()) if (!asked.has(word)) this.#known.delete(word);
    }
    this.#db.exec('BEGIN');
    for (const [row, word] of unknown.entries()) this.#put.run(row + 1, word);
    const found = unknown.map((): string[] => []);
    for (const { doc, term } of this.#terms.iterate() as Iterable<{ doc: number; term: string }>)
      found[doc - 1]!.push(term);
    this.#db.exec('ROLLBACK');
    for (const [row, word] of unknown.entries()) this.#known.set(word, found[row]!);
  }
}
