import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { MemoryRow } from '../memory-row.ts';
import { type Condition, wordsOf } from './query.ts';

/** BM25 as tuned on conversations, see retrieval's measurements: short texts, so that length counts less. */
const k1 = 0.9;
const b = 0.4;
/** So many that the index finds best are scored here. */
const maxCandidates = 200;
const maxOthers = 100;
const maxTerms = 48;
/** Further text of a long memory does not change how often a word counts by much. */
const scoredLength = 20_000;
/** Terms that more than this share has find nothing by themselves, where there are others. */
const commonShare = 0.2;

export interface Term {
  readonly term: string;
  /** The query's words that have it. */
  readonly words: readonly string[];
  readonly idf: number;
  readonly share: number;
}

export interface TextScore {
  readonly row: MemoryRow;
  readonly score: number;
  /** What each term gave. */
  readonly terms: ReadonlyMap<Term, number>;
  readonly counts: ReadonlyMap<Term, number>;
}

export interface Collection {
  readonly memories: number;
  readonly averageWords: number;
}

export function collectionOf(db: DatabaseSync): Collection {
  // The index keeps its totals itself; a sum over all rows would read them all.
  const { memories } = db.prepare('SELECT count(*) AS memories FROM memory_index_docsize').get() as {
    memories: number;
  };
  const { average } = db
    .prepare('SELECT avg(words) AS average FROM (SELECT words FROM memories ORDER BY memory DESC LIMIT 2000)')
    .get() as { average: number | null };
  return { memories, averageWords: average ?? 1 };
}

/** The query's words as the index has them, the rarest first; those that nothing has under a narrow condition are left out. */
export function termsOf(
  db: DatabaseSync,
  words: readonly string[],
  stems: Stems,
  { memories }: Collection,
  condition: Condition,
): Term[] {
  const byTerm = new Map<string, string[]>();
  stems.learn(words);
  for (const word of words)
    for (const term of stems.of(word)) byTerm.set(term, [...(byTerm.get(term) ?? []), word]);
  const find = db.prepare('SELECT doc FROM memory_words WHERE term = ?');
  const found: Term[] = [];
  for (const [term, having] of byTerm) {
    const row = find.get(term) as { doc: number } | undefined;
    if (row === undefined) continue;
    const idf = Math.log(1 + (memories - row.doc + 0.5) / (row.doc + 0.5));
    found.push({ term, words: having, idf, share: row.doc / memories });
  }
  const ranked = found.sort((a, c) => c.idf - a.idf);
  return condition.isNarrow ? under(db, ranked, condition) : ranked.slice(0, maxTerms);
}

function under(db: DatabaseSync, terms: readonly Term[], { sql, values }: Condition): Term[] {
  const find = db.prepare(
    `SELECT 1 FROM memory_index CROSS JOIN memories m ON m.memory = memory_index.rowid
     WHERE memory_index MATCH ? AND ${sql} LIMIT 1`,
  );
  const found: Term[] = [];
  for (const term of terms) {
    if (found.length === maxTerms) break;
    if (find.get(matchOf(term), ...values) !== undefined) found.push(term);
  }
  return found;
}

function matchOf({ term, words }: Term): string {
  return `"${words[0] ?? term}"`;
}

/**
 * Scores the memories that have any of the terms, as far as the index finds them worth it, and those that have the query's name.
 * @param name the query as the name of something
 */
export function textScores(
  db: DatabaseSync,
  terms: readonly Term[],
  condition: Condition,
  stems: Stems,
  collection: Collection,
  name: string | null,
): TextScore[] {
  const rare = terms.filter(({ share }) => share <= commonShare);
  // What many have of everything, few may have under a narrow condition.
  const searched = rare.length > 0 && collection.memories > 1_000 && !condition.isNarrow ? rare : terms;
  if (searched.length === 0) return [];
  const match = searched.map(matchOf).join(' OR ');
  const rows = candidates(db, match, condition, name);
  const texts = rows.map((row) => wordsOf(`${row.content.slice(0, scoredLength)}\n${row.context}`, Infinity));
  stems.learn(texts.flat());
  const byName = new Map(terms.map((term) => [term.term, term]));
  return rows.map((row, n) => {
    const counts = new Map<Term, number>();
    for (const word of texts[n]!)
      for (const name of stems.of(word)) {
        const term = byName.get(name);
        if (term !== undefined) counts.set(term, (counts.get(term) ?? 0) + 1);
      }
    return { row, counts, ...bm25(counts, row.words, collection.averageWords) };
  });
}

/** Where the lines of runs fill the list, the best of everything else as well. */
function candidates(db: DatabaseSync, match: string, condition: Condition, name: string | null): MemoryRow[] {
  const find = (also: string, max: number) =>
    db
      .prepare(
        `SELECT m.* FROM memory_index JOIN memories m ON m.memory = memory_index.rowid
         WHERE memory_index MATCH ? AND ${condition.sql} ${also} ORDER BY memory_index.rank LIMIT ?`,
      )
      .all(match, ...condition.values, max) as unknown as MemoryRow[];
  const found = find('', maxCandidates);
  if (found.length === maxCandidates) found.push(...find("AND m.kind <> 'run_event'", maxOthers));
  if (name !== null)
    found.push(
      ...(db
        .prepare(
          `SELECT m.* FROM memories m WHERE m.subject_name = ? AND ${condition.sql} ORDER BY m.memory DESC LIMIT ?`,
        )
        .all(name, ...condition.values, maxOthers) as unknown as MemoryRow[]),
    );
  return [...new Map(found.map((row) => [row.memory, row])).values()];
}

export function bm25(
  counts: ReadonlyMap<Term, number>,
  length: number,
  average: number,
): { readonly score: number; readonly terms: ReadonlyMap<Term, number> } {
  const damping = k1 * (1 - b + (b * length) / average);
  const terms = new Map<Term, number>();
  let score = 0;
  for (const [term, count] of counts) {
    const part = (term.idf * count * (k1 + 1)) / (count + damping);
    terms.set(term, part);
    score += part;
  }
  return { score, terms };
}

const maxKnown = 50_000;

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
    if (this.#known.size + unknown.length > maxKnown) {
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
