import type { DatabaseSync } from 'node:sqlite';
import { prepared, rows } from './statements.ts';
import type { Weights } from './weights.ts';

export interface NodeRow {
  readonly node: number;
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly repository: string | null;
  readonly path: string | null;
  readonly start_line: number | null;
  readonly end_line: number | null;
}

export interface Hit {
  readonly row: NodeRow;
  /** BM25, higher is better. */
  readonly score: number;
}

/** What a query names outright: by its whole title, path or id, or as a place in a stack trace. */
export interface Named {
  readonly row: NodeRow;
  /** As the query has it. */
  readonly written: string;
}

/** What may be found at all. */
export interface Scope {
  /** null: of every kind. */
  readonly kinds: readonly string[] | null;
  /** Whole names; null: of every repository and of none. */
  readonly repositories: readonly string[] | null;
  /** Only what was valid then. */
  readonly at: string;
  /** Whether most of what is stored is in it, so that looking first and choosing then is cheaper. */
  readonly wide: boolean;
}

/** Files, and everything else. */
const indexes = {
  whole: { table: 'whole_index', most: 200 },
  part: { table: 'part_index', most: 400 },
} as const;
export type TextIndex = keyof typeof indexes;

export const nodeColumns = 'n.node, n.id, n.kind, n.title, n.repository, n.path, n.start_line, n.end_line';

export const inScope = `n.label = 'CoreEntity' AND n.valid_from <= :at AND (n.valid_to IS NULL OR n.valid_to > :at)
  AND (:kinds IS NULL OR n.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:repositories IS NULL OR n.repository IN (SELECT value FROM json_each(:repositories)))`;

/** @param matches what FTS5 is asked, one after another; the best answer on a node counts */
export function textHits(
  db: DatabaseSync,
  index: TextIndex,
  matches: readonly string[],
  scope: Scope,
  weights: Weights,
): Hit[] {
  const { table, most } = indexes[index];
  return best(
    matches.map((match) => hits(db, table, weights[index], match, scope, most)),
    most,
  );
}

function best(answers: readonly (readonly Hit[])[], most: number): Hit[] {
  const byNode = new Map<number, Hit>();
  for (const hit of answers.flat()) {
    if (hit.score > (byNode.get(hit.row.node)?.score ?? 0)) byNode.set(hit.row.node, hit);
  }
  return [...byNode.values()].toSorted((a, b) => b.score - a.score).slice(0, most);
}

function hits(
  db: DatabaseSync,
  table: string,
  columnWeights: readonly number[],
  match: string,
  scope: Scope,
  most: number,
): Hit[] {
  const rank = `bm25(${columnWeights.join(', ')})`;
  if (scope.wide) {
    const found = rows<{ node: number; rank: number }>(
      db,
      `SELECT rowid AS node, rank FROM ${table} WHERE ${table} MATCH ? AND rank MATCH '${rank}' ORDER BY rank LIMIT ${most}`,
      match,
    );
    const known = nodesInScope(
      db,
      found.map(({ node }) => node),
      scope,
    );
    if (found.length < most || known.size > most / 2) {
      return found.flatMap(({ node, rank }) => {
        const row = known.get(node);
        return row === undefined ? [] : [{ row, score: -rank }];
      });
    }
  }
  const found = prepared(
    db,
    `SELECT ${nodeColumns}, t.rank AS rank FROM ${table} AS t CROSS JOIN nodes AS n ON n.node = t.rowid
     WHERE ${table} MATCH :match AND t.rank MATCH '${rank}' AND ${inScope} ORDER BY t.rank LIMIT ${most}`,
  ).all({ ...parametersOf(scope), match }) as unknown as (NodeRow & { rank: number })[];
  return found.map(({ rank, ...row }) => ({ row, score: -rank }));
}

/** Those of the nodes that may be found, by their number. */
export function nodesInScope(db: DatabaseSync, nodes: readonly number[], scope: Scope): Map<number, NodeRow> {
  const found = prepared(
    db,
    `SELECT ${nodeColumns} FROM json_each(:nodes) AS asked CROSS JOIN nodes AS n ON n.node = asked.value WHERE ${inScope}`,
  ).all({ ...parametersOf(scope), nodes: JSON.stringify(nodes) }) as unknown as NodeRow[];
  return new Map(found.map((row) => [row.node, row]));
}

export function parametersOf(scope: Scope): {
  at: string;
  kinds: string | null;
  repositories: string | null;
} {
  return {
    at: scope.at,
    kinds: scope.kinds === null ? null : JSON.stringify(scope.kinds),
    repositories: scope.repositories === null ? null : JSON.stringify(scope.repositories),
  };
}
