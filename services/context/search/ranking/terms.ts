import type { DatabaseSync } from 'node:sqlite';
import { type QueryTerm, queryTerms } from '../words/query-terms.ts';
import { inScope, parametersOf, rows, type Scope } from './text-hits.ts';

/** A term of the query that the index knows. */
export interface WeighedTerm extends QueryTerm {
  /** How much a match says: the rarer, the more. */
  readonly rarity: number;
  /** Whether having it is enough to be found; a frequent one only adds to what has another. */
  readonly isEnough: boolean;
}

/** A stack trace of twenty thousand characters has a thousand terms; the rarest say where to look. */
const maxTerms = 32;
/** Of longer queries the beginning and the end: a stack trace has what was called last at one of them. */
const maxLookedUp = 2000;

/** Of a term that is in more files than so many times the limit, having it says nothing beside a rarer one. */
const maxOfSecond = 2;

/**
 * The query's terms that are in the index, rarest first. Terms are counted in what the scope allows, except for a wide one, whose
 * counts are those of everything: a word that is rare or only there elsewhere must not decide what is found here.
 * @param max files with a term that is enough, in all: to rate everything that has a frequent word takes long
 */
export function weighedTerms(db: DatabaseSync, query: string, scope: Scope, max: number): WeighedTerm[] {
  const asked = bothEnds(queryTerms(query), maxLookedUp);
  const written = asked.map(({ term }) => term);
  const counts = scope.wide ? documentCounts(db, written) : countsInScope(db, written, scope);
  const known = asked
    .filter(({ term }) => counts.has(term))
    .map((term) => ({ ...term, rarity: term.weight / Math.log2(2 + counts.get(term.term)!) }))
    .toSorted((a, b) => b.rarity - a.rarity)
    .slice(0, maxTerms);
  let matches = 0;
  return known.map((term, nth) => {
    const files = counts.get(term.term)!;
    matches += files;
    return { ...term, isEnough: nth === 0 || matches <= max || (nth === 1 && files <= maxOfSecond * max) };
  });
}

function bothEnds<Item>(items: readonly Item[], max: number): readonly Item[] {
  return items.length <= max ? items : [...items.slice(0, max / 2), ...items.slice(-max / 2)];
}

/** In how many files a term is; of a term that is in none, in how many parts or messages of changes. */
function documentCounts(db: DatabaseSync, terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const table of ['whole_terms', 'part_terms', 'change_terms']) {
    const missing = terms.filter((term) => !counts.has(term));
    if (missing.length === 0) break;
    const found = rows<{ term: string; doc: number }>(
      db,
      `SELECT t.term, t.doc FROM json_each(:missing) AS asked CROSS JOIN ${table} AS t ON t.term = asked.value`,
      { missing: JSON.stringify(missing) },
    );
    for (const { term, doc } of found) counts.set(term, doc);
  }
  return counts;
}

/** The same in a scope. */
function countsInScope(db: DatabaseSync, terms: readonly string[], scope: Scope): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [table, from] of scopedTables) {
    const missing = terms.filter((term) => !counts.has(term));
    if (missing.length === 0) break;
    const found = rows<{ term: string; doc: number }>(
      db,
      `SELECT asked.value AS term, count(*) AS doc FROM json_each(:missing) AS asked
       CROSS JOIN ${table} AS t ON t.${table} MATCH '"' || asked.value || '"' ${from} GROUP BY asked.value`,
      { missing: JSON.stringify(missing), ...parametersOf(scope) },
    );
    for (const { term, doc } of found) counts.set(term, doc);
  }
  return counts;
}

const nodesOfTexts = `CROSS JOIN nodes AS n ON n.node = t.rowid WHERE ${inScope}`;
const scopedTables = [
  ['whole_index', nodesOfTexts],
  ['part_index', nodesOfTexts],
  [
    'change_index',
    `CROSS JOIN changes AS c ON c.change = t.rowid WHERE c.at <= :at AND :kinds IS NULL
       AND (:repositories IS NULL OR c.repository IN (SELECT value FROM json_each(:repositories)))`,
  ],
] as const;

/**
 * What FTS5 is asked, those terms that count more more than once: what has one of the terms that are enough; and of that again what
 * has a frequent one too, so that only there the frequent ones are rated. Terms hold no quotes.
 */
export function matchesOf(terms: readonly WeighedTerm[]): string[] {
  const frequent = terms.filter(({ isEnough }) => !isEnough);
  const rare = anyOf(
    terms.filter(({ isEnough }) => isEnough),
    terms,
  );
  return frequent.length === 0 ? [rare] : [rare, `(${rare}) AND (${anyOf(frequent, terms)})`];
}

export function matchOfAny(terms: readonly WeighedTerm[]): string {
  return anyOf(terms, terms);
}

function anyOf(some: readonly WeighedTerm[], all: readonly WeighedTerm[]): string {
  const least = Math.min(...all.map(({ weight }) => weight));
  return some
    .flatMap(({ term, weight }) => Array<string>(Math.max(1, Math.round(weight / least))).fill(`"${term}"`))
    .join(' OR ');
}
