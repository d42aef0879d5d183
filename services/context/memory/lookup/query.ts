import type { DatabaseSync } from 'node:sqlite';
import type { MemoryLayer } from '#kit/contracts/context/vocabulary.ts';
import { isStopWord } from '../../search/words/query-terms.ts';
import { readable } from '../../search/words/words.ts';
import { normalisedName } from '../normalise.ts';

/** Which memories a lookup may find. */
export interface Filters {
  readonly layer: MemoryLayer | null;
  /** null: of any session and of none. */
  readonly sessions: readonly string[] | null;
  /** Who said it, first or again, as stored; null: anybody. */
  readonly sources: readonly string[] | null;
  /** null: of any entity. */
  readonly about: readonly string[] | null;
  /** null: now, and what happens later by somebody's clock as well. */
  readonly as_of: string | null;
}

export interface Condition {
  /** On `memories m`. */
  readonly sql: string;
  readonly values: readonly (string | number)[];
  /** True if it leaves out more than what is not valid now. */
  readonly isNarrow: boolean;
}

export function conditionOf({ layer, sessions, sources, about, as_of }: Filters): Condition {
  const parts: string[] = ['m.valid_to > ?'];
  const now = new Date().toISOString();
  const values: string[] = [as_of ?? now];
  const also = (sql: string, ...more: readonly string[]) => {
    parts.push(sql);
    values.push(...more);
  };
  if (as_of === null) also("(m.layer = 'episodic' OR m.valid_from <= ?)", now);
  else also('m.valid_from <= ?', as_of);
  if (layer !== null) also('m.layer = ?', layer);
  if (sessions !== null) also('m.session IN (SELECT value FROM json_each(?))', JSON.stringify(sessions));
  if (sources !== null)
    also(
      'm.memory IN (SELECT memory FROM memory_sightings WHERE source IN (SELECT value FROM json_each(?)))',
      JSON.stringify(sources),
    );
  if (about !== null)
    also(
      'm.memory IN (SELECT memory FROM memory_about WHERE entity IN (SELECT value FROM json_each(?)))',
      JSON.stringify(about),
    );
  const isNarrow = [layer, sessions, sources, about, as_of].some((filter) => filter !== null);
  return { sql: parts.join(' AND '), values, isNarrow };
}

const maxWords = 2_000;
const wordPattern = /[\p{L}\p{M}\p{N}_$]+(?:'\p{L}+)*|\p{RI}{2}|[\p{Extended_Pictographic}--[©®™]]/gv;

/** Words, identifiers and emoji of a query, in order, as they are written. */
export function wordsOf(text: string, max = maxWords): string[] {
  return (readable(text).replaceAll('’', "'").match(wordPattern) ?? []).slice(0, max);
}

/** Without the words that say nothing; a possessive loses its ending. */
export function contentWords(words: readonly string[]): string[] {
  const content = words.filter((word) => !isStopWord(word)).flatMap((word) => word.split("'"));
  return [...new Set(content.filter((word) => word !== '' && !isStopWord(word)))];
}

const maxNameWords = 4;
const maxNamedWords = 200;
/** A name that many memories have in common no longer distinguishes them. */
const manyMemories = 10;
const manyShare = 0.02;

export interface Name {
  readonly name: string;
  /** True if so many memories are this subject's that the name finds nothing. */
  readonly common: boolean;
}

/** The subjects and speakers that a query names, of memories that a narrow condition allows. */
export function namesIn(
  db: DatabaseSync,
  query: string,
  memories: number,
  { sql, values, isNarrow }: Condition,
): Name[] {
  const also = isNarrow ? `AND ${sql}` : '';
  const bound = isNarrow ? values : [];
  const count = db.prepare(
    `SELECT count(*) AS memories FROM (
       SELECT m.memory FROM memories m WHERE m.subject_name = ? ${also}
       UNION SELECT m.memory FROM memories m WHERE m.speaker_name = ? ${also} LIMIT ?)`,
  );
  const enough = Math.max(manyMemories, Math.ceil(memories * manyShare));
  const names: Name[] = [];
  for (const name of phrasesOf(query)) {
    const { memories: having } = count.get(name, ...bound, name, ...bound, enough) as { memories: number };
    if (having > 0) names.push({ name, common: having >= enough });
  }
  return names;
}

function phrasesOf(query: string): Set<string> {
  const written = normalisedName(query).split(' ').slice(0, maxNamedWords).map(bare);
  const words = wordsOf(query.toLowerCase(), maxNamedWords).map(bare);
  const phrases = new Set<string>();
  for (const list of [written, words])
    for (let from = 0; from < list.length; from++)
      for (let length = 1; length <= maxNameWords && from + length <= list.length; length++)
        phrases.add(list.slice(from, from + length).join(' '));
  return phrases;
}

/** Without punctuation around it and the ending of a possessive. */
function bare(word: string): string {
  return word.replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, '').replace(/['’]s$/u, '');
}
