import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../../record/connection.ts';
import { allTermsOfWord, isUnspaced, isUnspacedLetter, soughtOf } from '../../search/words/words.ts';
import { termsOfMemory } from '../memory-index.ts';
import type { MemoryRow } from '../memory-row.ts';
import type { Condition } from './query.ts';

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
/** What a term counts that only begins as the query's does, beside one that is the same. */
const variantShare = 0.5;

export interface Term {
  readonly term: string;
  /** True if it stands for each term of the index that begins with it. */
  readonly isPrefix: boolean;
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

/**
 * The query's terms that the index has, the rarest first; under a narrow condition, those that something under it has. A term that is
 * nowhere stands for the terms that it is the beginning of, or that are its own beginning.
 */
export function termsOf(
  db: DatabaseSync,
  words: readonly string[],
  { memories }: Collection,
  condition: Condition,
): Term[] {
  const find = (terms: readonly Sought[]) => {
    const found = terms.flatMap((sought): Term[] => {
      const docs = documentsWith(db, sought);
      if (docs === 0) return [];
      const idf = Math.log(1 + Math.max(0, memories - docs + 0.5) / (docs + 0.5));
      return [{ ...sought, idf: sought.isVariant ? variantShare * idf : idf, share: docs / memories }];
    });
    const ranked = found.sort((a, c) => c.idf - a.idf);
    return condition.isNarrow ? under(db, ranked, condition) : ranked.slice(0, maxTerms);
  };
  const sought = soughtIn(words);
  const exact = find(sought);
  if (exact.length === maxTerms) return exact;
  const known = new Set(exact.map(({ term }) => term));
  const missing = sought.filter(({ term, isPrefix }) => !isPrefix && !known.has(term)).slice(0, maxTerms);
  const all = [...exact];
  for (const one of missing) {
    const variant = firstOf(variantsOf(one), (variant) => find([variant])[0]);
    if (variant === undefined || known.has(variant.term)) continue;
    known.add(variant.term);
    all.push(variant);
  }
  return all.sort((a, c) => c.idf - a.idf).slice(0, maxTerms);
}

function firstOf<Item, Found>(items: readonly Item[], find: (item: Item) => Found | undefined) {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Sought = Pick<Term, 'term' | 'isPrefix' | 'words'> & { readonly isVariant: boolean };

/** Terms of the query's words, each once. */
function soughtIn(words: readonly string[]): Sought[] {
  const byTerm = new Map<string, Sought & { words: string[] }>();
  const add = (term: string, isPrefix: boolean, word: string) => {
    const known = byTerm.get(term);
    if (known !== undefined) known.words.push(word);
    else byTerm.set(term, { term, isPrefix, isVariant: isPrefix, words: [word] });
  };
  for (const word of words) {
    for (const term of soughtOf(allTermsOfWord(word)))
      add(term, isUnspacedLetter(term), isUnspaced(word) ? term : word);
    const noun = shortNoun.exec(word)?.[0];
    if (noun !== undefined) add(noun, true, word);
  }
  return [...byTerm.values()];
}

/** A Korean noun of one letter before a particle. */
const shortNoun = /^\p{sc=Hangul}(?=[을를이가은는에의와과로도만]$)/u;

const minPrefix = 3;
const minBeginning = 4;
const maxCut = 3;

/** What a term that is nowhere may stand for, the best first: `kuber` for `kubernet`, `migrati` for `migrat`, `muenchen` for `munchen`. */
function variantsOf({ term, words }: Sought): Sought[] {
  const variant = (other: string, isPrefix = false): Sought => ({
    ...{ term: other, isPrefix, isVariant: true, words },
  });
  const variants = term.length >= minPrefix ? [variant(term, true)] : [];
  if (!/^[a-z]+$/.test(term)) return variants;
  const plain = term.replaceAll(/([aou])e/g, '$1');
  if (plain !== term) variants.push(variant(plain));
  for (let cut = 1; cut <= maxCut && term.length - cut >= minBeginning; cut++)
    variants.push(variant(term.slice(0, -cut)));
  return variants;
}

function documentsWith(db: DatabaseSync, { term, isPrefix }: Sought): number {
  const row = isPrefix
    ? prepared(db, 'SELECT sum(doc) AS doc FROM memory_words WHERE term >= ? AND term < ?').get(
        term,
        `${term}\u{10ffff}`,
      )
    : prepared(db, 'SELECT doc FROM memory_words WHERE term = ?').get(term);
  return (row as { doc: number | null } | undefined)?.doc ?? 0;
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

/** Terms hold no quotes. */
function matchOf({ term, isPrefix }: Term): string {
  return isPrefix ? `"${term}" *` : `"${term}"`;
}

/**
 * Scores the memories that have any of the terms, as far as the index finds them worth it, and those that have the query's name.
 * @param name the query as the name of something
 */
export function textScores(
  db: DatabaseSync,
  terms: readonly Term[],
  condition: Condition,
  collection: Collection,
  name: string | null,
): TextScore[] {
  const rare = terms.filter(({ share }) => share <= commonShare);
  // What many have of everything, few may have under a narrow condition.
  const searched = rare.length > 0 && collection.memories > 1_000 && !condition.isNarrow ? rare : terms;
  if (searched.length === 0) return [];
  const match = searched.map(matchOf).join(' OR ');
  const rows = candidates(db, match, condition, name);
  const byName = new Map(terms.filter(({ isPrefix }) => !isPrefix).map((term) => [term.term, term]));
  const prefixes = terms.filter(({ isPrefix }) => isPrefix);
  return rows.map((row) => {
    const counts = new Map<Term, number>();
    const add = (term: Term, count: number) => counts.set(term, (counts.get(term) ?? 0) + count);
    for (const [name, count] of termsOfMemory(row, scoredLength)) {
      const term = byName.get(name);
      if (term !== undefined) add(term, count);
      for (const prefix of prefixes) if (name.startsWith(prefix.term)) add(prefix, count);
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
