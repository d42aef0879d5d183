import type { GraphRecord } from '../record/graph-record.ts';
import { allTermsOf, bagOf, type Terms } from '../search/words/words.ts';
import type { MemoryRow } from './memory-row.ts';

/**
 * The text index, by memory. It keeps terms of search/words and no text. `secure-delete` removes the terms of a forgotten memory from
 * its pages.
 */
export const memoryIndexTables = `
  DROP TABLE memory_words;
  DROP TABLE memory_index;
  CREATE VIRTUAL TABLE memory_index USING fts5(terms, content='', tokenize='ascii');
  INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1);
  CREATE VIRTUAL TABLE memory_words USING fts5vocab(memory_index, row);
`;

type IndexedText = Pick<MemoryRow, 'content' | 'context'>;

/** @param max characters of the content that count */
export function termsOfMemory({ content, context }: IndexedText, max = Infinity): Terms {
  return allTermsOf(`${content.slice(0, max)}\n${context}`);
}

export function countTerms(terms: Terms): number {
  let sum = 0;
  for (const count of terms.values()) sum += count;
  return sum;
}

/** Makes a memory findable by its terms. */
export function indexMemory(record: GraphRecord, memory: number, terms: Terms): void {
  record.insert('memory_index', { rowid: memory, terms: bagOf(terms) });
}

/** The index keeps no text, so it needs the terms of the memory once more. */
export function unindexMemory(record: GraphRecord, row: MemoryRow): void {
  record
    .prepare("INSERT INTO memory_index (memory_index, rowid, terms) VALUES ('delete', ?, ?)")
    .run(row.memory, bagOf(termsOfMemory(row)));
}

/** Fills the index again from the memories, and counts their terms. */
export function indexAllMemories(record: GraphRecord): void {
  record.db.exec("INSERT INTO memory_index (memory_index) VALUES ('delete-all')");
  record.db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1)");
  const next = record.db.prepare(
    'SELECT memory, content, context FROM memories WHERE memory > ? ORDER BY memory LIMIT 1',
  );
  const setWords = record.db.prepare('UPDATE memories SET words = ? WHERE memory = ?');
  for (let last = 0; ; ) {
    const row = next.get(last) as (IndexedText & { memory: number }) | undefined;
    if (row === undefined) return;
    const terms = termsOfMemory(row);
    indexMemory(record, row.memory, terms);
    setWords.run(countTerms(terms), row.memory);
    last = row.memory;
  }
}
