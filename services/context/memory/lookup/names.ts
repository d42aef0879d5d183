import type { DatabaseSync } from 'node:sqlite';
import { normalisedName } from '../normalise.ts';
import { wordsOf } from './query-words.ts';

const longestName = 4;
const mostWords = 200;
/** A name that many memories have in common tells them apart no more. */
const manyMemories = 10;
const manyShare = 0.02;

export interface Name {
  readonly name: string;
  /** Whether so many memories are this subject's that the name finds nothing. */
  readonly common: boolean;
}

/** The subjects and speakers that a query names. */
export function namesIn(db: DatabaseSync, query: string, memories: number): Name[] {
  const count = db.prepare(
    `SELECT count(*) AS memories FROM (
       SELECT memory FROM memories WHERE subject_name = ?1 UNION SELECT memory FROM memories WHERE speaker_name = ?1 LIMIT ?2)`,
  );
  const enough = Math.max(manyMemories, Math.ceil(memories * manyShare));
  const names: Name[] = [];
  for (const name of phrasesOf(query)) {
    const { memories: having } = count.get(name, enough) as { memories: number };
    if (having > 0) names.push({ name, common: having >= enough });
  }
  return names;
}

function phrasesOf(query: string): Set<string> {
  const written = normalisedName(query).split(' ').slice(0, mostWords).map(bare);
  const words = wordsOf(query, mostWords).map(bare);
  const phrases = new Set<string>();
  for (const list of [written, words])
    for (let from = 0; from < list.length; from++)
      for (let length = 1; length <= longestName && from + length <= list.length; length++)
        phrases.add(list.slice(from, from + length).join(' '));
  return phrases;
}

/** Without punctuation around it and the ending of a possessive. */
function bare(word: string): string {
  return word.replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, '').replace(/['’]s$/u, '');
}
