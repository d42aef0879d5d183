import type { DatabaseSync } from 'node:sqlite';
import type { SearchResult } from '#kit/contracts/context/search.ts';
import type { EntityKind } from '#kit/contracts/context/vocabulary.ts';
import type { Group } from './ranking/groups.ts';
import { rows } from './ranking/statements.ts';
import type { WeighedTerm } from './ranking/terms.ts';
import type { NodeRow } from './ranking/text-hits.ts';
import { snippetOf, termsIn } from './snippet.ts';
import { addPathTerms } from './words/path-terms.ts';
import type { Terms } from './words/words.ts';

const mostTermsTold = 8;
const mostEdgesTold = 3;

/** What the caller is shown of a group: its best part, or the whole, and why. @param best score of the first result */
export function resultOf(
  db: DatabaseSync,
  group: Group,
  terms: readonly WeighedTerm[],
  best: number,
): SearchResult {
  const row = representativeOf(group);
  const rarity = new Map(terms.map(({ term, rarity }) => [term, rarity]));
  const text = textOf(db, row);
  return {
    id: row.id,
    kind: row.kind as EntityKind,
    title: row.title,
    repository: row.repository,
    path: row.path,
    start_line: row.start_line,
    end_line: row.end_line,
    snippet: snippetOf(text, rarity),
    score: rounded(group.score / best),
    why: {
      terms: matchedWords(db, group, row, text, terms, rarity),
      text: rounded(group.text / group.score),
      named: group.named?.written ?? null,
      edges: group.edges
        .toSorted((a, b) => b.score - a.score)
        .slice(0, mostEdgesTold)
        .map((edge) => ({ ...edge, score: rounded(edge.score / best) })),
    },
  };
}

/** What was named; else the best part, where there is one: it says where in the file to look. */
function representativeOf({ named, whole, parts }: Group): NodeRow {
  return named?.row ?? parts[0]?.row ?? whole!;
}

/** As the query has them, those that say most first. */
function matchedWords(
  db: DatabaseSync,
  { whole }: Group,
  row: NodeRow,
  text: string,
  terms: readonly WeighedTerm[],
  rarity: ReadonlyMap<string, number>,
): string[] {
  const found = termsIn(text, rarity);
  if (whole !== null && whole.node !== row.node) {
    for (const term of termsIn(textOf(db, whole).slice(0, mostOfWhole), rarity)) found.add(term);
  }
  const names: Terms = new Map();
  addPathTerms(row.title, names);
  addPathTerms(row.path ?? '', names);
  const matched = terms.filter(({ term }) => found.has(term) || names.has(term));
  return [...new Set(matched.map(({ written }) => written.slice(0, 100)))].slice(0, mostTermsTold);
}

const mostOfText = 100_000;
const mostOfWhole = 20_000;

function textOf(db: DatabaseSync, row: NodeRow): string {
  const found = rows<{ text: string }>(
    db,
    `SELECT substr(text, 1, ${mostOfText}) AS text FROM bodies WHERE node = ?`,
    row.node,
  );
  return found[0]?.text ?? '';
}

function rounded(score: number): number {
  return Math.round(score * 10_000) / 10_000;
}
