import type { DatabaseSync } from 'node:sqlite';
import { nameWords } from '../words/prefix.ts';
import { type Group, groupAt, keyOf } from './groups.ts';
import { matchesOf, type WeighedTerm } from './terms.ts';
import { type NodeRow, type Scope, textHits, type Weights } from './text-hits.ts';

/** Of a word in a folder's name beside one in the file's. */
const folderShare = 0.5;
/** Of a number of one digit, which no index has: `plugin 1` is `plugin.1.test.js` and not `plugin.2.test.js`. */
const digitRarity = 0.1;

/**
 * Adds what the words of a query that stand in the path of a file say. BM25 counts them with those of the text, where a word that
 * is there often is worth as much; but a file is named by what it is about. Of two paths the shorter one is more about the word.
 *
 * Measured without history on six repositories (site/figures.md): +1.6 MRR, +2.1 recall at 5.
 */
export function addPathWords(
  db: DatabaseSync,
  query: string,
  terms: readonly WeighedTerm[],
  scope: Scope,
  groups: Map<string, Group>,
  weights: Weights,
): void {
  const rarity = new Map(terms.map(({ term, rarity }) => [term, rarity]));
  for (const digit of query.match(/(?<![\p{L}\p{N}.])\d(?![\p{L}\p{N}.])/gu) ?? [])
    rarity.set(digit, digitRarity);
  const matches = matchesOf(terms).map((match) => `{name path} : (${match})`);
  const files = new Map<string, NodeRow>();
  for (const { row } of textHits(db, 'path', matches, scope, weights)) files.set(keyOf(row, false), row);
  for (const [key, { whole }] of groups) if (whole !== null) files.set(key, whole);
  const scores = [...files].map(([key, row]) => ({ key, row, score: scoreOf(row.path ?? '', rarity) }));
  const best = Math.max(Number.MIN_VALUE, ...scores.map(({ score }) => score));
  for (const { key, row, score } of scores) {
    if (score === 0) continue;
    const group = groupAt(groups, key);
    group.whole ??= row;
    group.text += (weights.pathWords * score) / best;
    group.score += (weights.pathWords * score) / best;
  }
}

function scoreOf(path: string, rarity: ReadonlyMap<string, number>): number {
  const slash = path.lastIndexOf('/') + 1;
  const name = new Set(nameWords(path.slice(slash)));
  const folders = new Set(nameWords(path.slice(0, slash)).filter((word) => !name.has(word)));
  const sumOf = (words: ReadonlySet<string>) =>
    [...words].reduce((sum, word) => sum + (rarity.get(word) ?? 0), 0);
  const sum = sumOf(name) + folderShare * sumOf(folders);
  return sum / Math.sqrt(name.size + folderShare * folders.size);
}
