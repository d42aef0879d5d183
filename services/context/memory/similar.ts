import type { DatabaseSync } from 'node:sqlite';
import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import { prepared } from '../record/connection.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import type { MemoryRow } from './memory-row.ts';
import type { Fingerprint } from './minhash.ts';
import { jaccard, normalised, trigrams } from './normalise.ts';
import { sharing } from './signatures.ts';

/** Minimum Jaccard index of the 3-grams of two texts that are similar. */
const alike = 0.9;
/** Maximum number of memories that a new one is compared with, newest first. */
const maxCompared = 3;
/** Maximum number of older memories that a new one is linked to. */
const maxLinked = 2;

/**
 * Links a memory to the newest older ones of its layer, about the same entities, whose text is similar. Similar texts may contradict
 * each other, so both stay. @returns ids of those it is linked to, newest first
 */
export function linkSimilar(record: GraphRecord, row: MemoryRow, { bands, grams }: Fingerprint): string[] {
  const others = sharing(record, bands, maxCompared).filter(({ memory }) => memory !== row.memory);
  const gramsOf = ({ content, steps }: MemoryRow) =>
    trigrams(normalised(content, JSON.parse(steps) as string[]));
  const linked: string[] = [];
  for (const other of others) {
    if (linked.length === maxLinked) break;
    if (jaccard(grams, gramsOf(other)) < alike) continue;
    const { memory: from, recorded_at: valid_from } = row;
    record.putEdge({ from, to: other.memory, type: 'SIMILAR_TO', valid_from });
    linked.push(other.id);
  }
  return linked;
}

/**
 * Puts newer memories before older similar ones. An older one stays first if it has a word of the query that the newer one lacks, or if
 * it is vouched for and the newer one is not.
 * @param hasWordsOf true if the one has every word of the query that the other has
 */
export function newestOfSimilarFirst<Item extends { readonly row: MemoryRow }>(
  db: DatabaseSync,
  ranked: readonly Item[],
  hasWordsOf: (one: Item, other: Item) => boolean,
): Item[] {
  const groups = similarGroups(
    db,
    ranked.map(({ row }) => row.memory),
  );
  if (groups.size === 0) return [...ranked];
  const precedes = (item: Item, other: Item) =>
    groups.get(other.row.memory) === groups.get(item.row.memory) &&
    (isVouchedFor(item.row.source) || !isVouchedFor(other.row.source)) &&
    isNewer(item.row, other.row) &&
    hasWordsOf(item, other);
  const ordered: Item[] = [];
  for (const item of ranked) {
    const at = groups.has(item.row.memory) ? ordered.findIndex((other) => precedes(item, other)) : -1;
    ordered.splice(at < 0 ? ordered.length : at, 0, item);
  }
  return ordered;
}

function isNewer(a: MemoryRow, b: MemoryRow): boolean {
  if (a.valid_from !== b.valid_from) return a.valid_from > b.valid_from;
  return a.recorded_at === b.recorded_at ? a.memory > b.memory : a.recorded_at > b.recorded_at;
}

/** A number for each group of memories that links join; memories without a link have none. */
function similarGroups(db: DatabaseSync, memories: readonly number[]): Map<number, number> {
  const links = prepared(
    db,
    `SELECT from_node AS a, to_node AS b FROM edges WHERE type = 'SIMILAR_TO'
       AND from_node IN (SELECT value FROM json_each(?1)) AND to_node IN (SELECT value FROM json_each(?1))`,
  ).all(JSON.stringify(memories)) as { a: number; b: number }[];
  const groups = new Map<number, number>();
  for (const { a, b } of links) {
    const [first, second] = [groups.get(a) ?? a, groups.get(b) ?? b];
    groups.set(a, first);
    groups.set(b, first);
    if (first !== second)
      for (const [memory, group] of groups) if (group === second) groups.set(memory, first);
  }
  return groups;
}
