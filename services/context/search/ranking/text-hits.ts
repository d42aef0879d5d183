import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../../record/prepared.ts';
import { rows } from './statements.ts';
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
  const rank = `bm25(${[table, ...weights[index]].join(', ')})`;
  const all = { db, table, rank, matches, scope, most };
  const hits = (scope.wide ? lookedUpLast(all) : null) ?? lookedUpFirst(all);
  return hits.toSorted((a, b) => b.score - a.score).slice(0, most);
}

interface Asked {
  readonly db: DatabaseSync;
  readonly table: string;
  readonly rank: string;
  readonly matches: readonly string[];
  readonly scope: Scope;
  readonly most: number;
}

/** Chooses among the best of all texts. @returns null where too few of them may be found */
function lookedUpLast({ db, table, rank, matches, scope, most }: Asked): Hit[] | null {
  const sql = `SELECT rowid AS node, ${rank} AS rank FROM ${table} WHERE ${table} MATCH ? ORDER BY 2 LIMIT ${most}`;
  const answers = matches.map((match) => rows<{ node: number; rank: number }>(db, sql, match));
  const ranks = new Map<number, number>();
  for (const { node, rank } of answers.flat()) ranks.set(node, Math.min(rank, ranks.get(node) ?? 0));
  const known = nodesInScope(db, [...ranks.keys()], scope);
  if (answers.some(({ length }) => length === most) && known.size <= most / 2) return null;
  return [...known.values()].map((row) => ({ row, score: -ranks.get(row.node)! }));
}

/** Ranks only what may be found. */
function lookedUpFirst({ db, table, rank, matches, scope, most }: Asked): Hit[] {
  const statement = prepared(
    db,
    `SELECT ${nodeColumns}, ${rank} AS rank FROM ${table} CROSS JOIN nodes AS n ON n.node = ${table}.rowid
     WHERE ${table} MATCH :match AND ${inScope} ORDER BY rank LIMIT ${most}`,
  );
  const byNode = new Map<number, Hit>();
  for (const match of matches) {
    const found = statement.all({ ...parametersOf(scope), match }) as unknown as (NodeRow & {
      rank: number;
    })[];
    for (const { rank, ...row } of found) {
      if (-rank > (byNode.get(row.node)?.score ?? 0)) byNode.set(row.node, { row, score: -rank });
    }
  }
  return [...byNode.values()];
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
