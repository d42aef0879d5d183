import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../../record/connection.ts';
import { queryTerms } from '../words/query-terms.ts';
import { pathTermsOf } from '../words/words.ts';

/** Runs a query with its values by name. */
export function rows<Row>(
  db: DatabaseSync,
  sql: string,
  values: Readonly<Record<string, string | number | null>> = {},
): Row[] {
  return prepared(db, sql).all(values) as Row[];
}

/**
 * How the parts of a score are weighed, as test/bench/retrieval measured it. What was measured and left out, because it gave nothing or
 * did harm: pairs of words as one identifier, pieces of 20 to 80 lines beside the symbols, how often a file changed, sums over
 * edges instead of the most of one, and more of an edge than this.
 */
export interface Weights {
  /** Files with a term of the query, in all, up to which a term is enough to be found, the rarest first. */
  readonly matches: number;
  /** Of a word in a file's name, its path and its text, in `whole_index`. */
  readonly whole: readonly [name: number, path: number, body: number];
  /** The same for what is looked for in paths alone: so great that the length of the text does not count. */
  readonly path: readonly [name: number, path: number, body: number];
  /** Of a word in the name of a part and in its text, in `part_index`. */
  readonly part: readonly [name: number, body: number];
  /** What the parts of a file count beside the file as a whole, whose weight is 1. */
  readonly parts: number;
  /** What each further part of a file counts of the one before it. */
  readonly furtherPart: number;
  /** What words of the query in a file's path count, beside all text. */
  readonly pathWords: number;
  /** What a file gets for being of the sort that `ci:` or `deps:` names, beside all text. */
  readonly filesOfSort: number;
  /** How much more a file counts that is of the sort that `docs:` names, and one in the place that `fix(router):` names. */
  readonly sort: number;
  readonly place: number;
  /** What similar changes of the past count, beside all text, whose weight is 1. */
  readonly history: number;
  /** What an edge from a better result passes on of its score. */
  readonly edges: Readonly<Record<string, number>>;
}

export const weights: Weights = {
  matches: 300,
  whole: [16, 8, 1],
  path: [100, 100, 0],
  part: [4, 1],
  parts: 1,
  furtherPart: 0.4,
  pathWords: 0.3,
  filesOfSort: 0.3,
  sort: 0.5,
  place: 0.5,
  history: 0.4,
  edges: { imports: 0.05, changed_with: 0.1, references: 0.05, mentions: 0.05 },
};

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
  whole: { table: 'whole_index', limit: 200 },
  path: { table: 'whole_index', limit: 200 },
  part: { table: 'part_index', limit: 400 },
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
  const { table, limit } = indexes[index];
  const rank = `bm25(${[table, ...weights[index]].join(', ')})`;
  const all = { db, table, rank, matches, scope, limit };
  const hits = (scope.wide ? lookedUpLast(all) : null) ?? lookedUpFirst(all);
  return hits.toSorted((a, b) => b.score - a.score).slice(0, limit);
}

interface Asked {
  readonly db: DatabaseSync;
  readonly table: string;
  readonly rank: string;
  readonly matches: readonly string[];
  readonly scope: Scope;
  readonly limit: number;
}

/** Chooses among the best of all texts. @returns null where too few of them may be found */
function lookedUpLast({ db, table, rank, matches, scope, limit }: Asked): Hit[] | null {
  const sql = `SELECT rowid AS node, ${rank} AS rank FROM ${table} WHERE ${table} MATCH :match ORDER BY 2 LIMIT ${limit}`;
  const answers = matches.map((match) => rows<{ node: number; rank: number }>(db, sql, { match }));
  const ranks = new Map<number, number>();
  for (const { node, rank } of answers.flat()) ranks.set(node, Math.min(rank, ranks.get(node) ?? 0));
  const known = nodesInScope(db, [...ranks.keys()], scope);
  if (answers.some(({ length }) => length === limit) && known.size <= limit / 2) return null;
  return [...known.values()].map((row) => ({ row, score: -ranks.get(row.node)! }));
}

/** Ranks only what may be found. */
function lookedUpFirst({ db, table, rank, matches, scope, limit }: Asked): Hit[] {
  const sql = `SELECT ${nodeColumns}, ${rank} AS rank FROM ${table} CROSS JOIN nodes AS n ON n.node = ${table}.rowid
     WHERE ${table} MATCH :match AND ${inScope} ORDER BY rank LIMIT ${limit}`;
  const byNode = new Map<number, Hit>();
  for (const match of matches) {
    const found = rows<NodeRow & { rank: number }>(db, sql, { ...parametersOf(scope), match });
    for (const { rank, ...row } of found)
      if (-rank > (byNode.get(row.node)?.score ?? 0)) byNode.set(row.node, { row, score: -rank });
  }
  return [...byNode.values()];
}

/** Those of the nodes that may be found, by their number. */
export function nodesInScope(db: DatabaseSync, nodes: readonly number[], scope: Scope): Map<number, NodeRow> {
  const found = rows<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM json_each(:nodes) AS asked CROSS JOIN nodes AS n ON n.node = asked.value WHERE ${inScope}`,
    { ...parametersOf(scope), nodes: JSON.stringify(nodes) },
  );
  return new Map(found.map((row) => [row.node, row]));
}

export function parametersOf(scope: Scope): Record<'at' | 'kinds' | 'repositories', string | null> {
  return {
    at: scope.at,
    kinds: scope.kinds === null ? null : JSON.stringify(scope.kinds),
    repositories: scope.repositories === null ? null : JSON.stringify(scope.repositories),
  };
}

/** What has a name and no text of its own. */
const nameless = ['repository', 'directory', 'agent', 'service', 'artifact'];
const maxRead = 50_000;
const maxHits = 200;

/** Of kinds that are not in the index of texts, where they are asked for: by the words of their names. */
export function nameHits(db: DatabaseSync, query: string, scope: Scope, best: number): Hit[] {
  const kinds = (scope.kinds ?? []).filter((kind) => nameless.includes(kind));
  if (kinds.length === 0) return [];
  const terms = queryTerms(query);
  const named = rows<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM nodes AS n WHERE n.kind IN (SELECT value FROM json_each(:kinds)) AND ${inScope}
     LIMIT ${maxRead}`,
    parametersOf({ ...scope, kinds }),
  ).map((row) => ({ row, names: pathTermsOf(row.title, row.path ?? '') }));
  const counts = terms.map(({ term }) => named.filter(({ names }) => names.has(term)).length);
  const hits = named.flatMap(({ row, names }): Hit[] => {
    const score = terms.reduce(
      (sum, { term, weight }, nth) =>
        names.has(term) ? sum + weight * Math.log1p(named.length / counts[nth]!) : sum,
      0,
    );
    return score === 0 ? [] : [{ row, score: score / Math.sqrt(names.size) }];
  });
  const max = Math.max(Number.MIN_VALUE, ...hits.map(({ score }) => score));
  return hits
    .map(({ row, score }) => ({ row, score: (best * score) / max }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, maxHits);
}
