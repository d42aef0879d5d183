import type { QueryResult } from '@grafeo-db/js';
import { byName, maxReplyBytes, plainValue } from '../cypher-engine.ts';
import { refusedAt, tooLargeReply } from '../refusals.ts';
import type { Calls } from './engine-process.ts';
import { prepared, renamed } from './prepared.ts';
import type { ProjectionSnapshot } from './projection-versions.ts';

/** Runs a caller's text: only after its plan was seen to only read, and on a snapshot that cannot be written. */
export async function runText(
  { db }: ProjectionSnapshot,
  { rows: limit, ...asked }: Calls['run']['input'],
): Promise<Calls['run']['output']> {
  const { query, params } = renamed(asked.query, asked.params);
  const text = prepared(query, limit + 1);
  // The caller's own text first: what is wrong there is named by its place in it.
  for (const each of text === query ? [query] : [query, text]) {
    const problem = planProblem(String((await db.executeCypher(`EXPLAIN\n${each}`)).rows()[0]?.[0]));
    if (problem !== null) throw refusedAt('cypher_read_only', null, problem);
  }
  const result = await db.executeCypher(text, params);
  return { columns: result.columns, rows: rowsOf(result, limit), truncated: result.length > limit };
}

function rowsOf(result: QueryResult, limit: number): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  // A row by names cannot have a column `__proto__`; rows by place are all made at once.
  const byPlace = result.columns.includes('__proto__') ? result.rows() : null;
  let bytes = 0;
  for (let index = 0; index < Math.min(result.length, limit); index++) {
    const entries =
      byPlace === null
        ? Object.entries(result.get(index))
        : result.columns.map((column, place) => [column, byPlace[index]![place]] as const);
    const row = plain(Object.fromEntries(entries)) as Record<string, unknown>;
    bytes += JSON.stringify(row).length;
    if (bytes > maxReplyBytes) throw tooLargeReply(`row ${index + 1} of the result`);
    rows.push(row);
  }
  return rows;
}

function plain(value: unknown): unknown {
  return plainValue(value, plainObject);
}

/** Entities carry fields that begin with `_`, which no property of ours does. */
function plainObject(value: object): unknown {
  if (value instanceof Date) return value.toISOString();
  const map = value as Record<string, unknown>;
  const properties = () =>
    plain(byName(Object.fromEntries(Object.entries(map).filter(([key]) => !key.startsWith('_')))));
  if ('_labels' in map) {
    const labels = Array.isArray(map._labels) ? map._labels.toSorted() : map._labels;
    return { labels, properties: properties() };
  }
  if ('_type' in map) return { type: map._type, properties: properties() };
  return isPath(map) ? { nodes: map.nodes.map(plain), relationships: map.edges.map(plain) } : undefined;
}

/** Two lists, the first of them of nodes: a path has at least one. */
function isPath(map: Record<string, unknown>): map is { nodes: unknown[]; edges: unknown[] } {
  const { nodes, edges } = map;
  if (Object.keys(map).length !== 2 || !Array.isArray(nodes) || !Array.isArray(edges)) return false;
  const first = nodes[0] as unknown;
  return typeof first === 'object' && first !== null && '_labels' in first;
}

/** Operators of Grafeo 0.6.0 that only read; derived again at each upgrade. 51 is the argument of a subquery. */
const reading = new Set([
  'Return',
  'NodeScan',
  'EdgeScan',
  'Filter',
  'Expand',
  'Project',
  'Aggregate',
  'Sort',
  'Limit',
  'Skip',
  'Distinct',
  'Union',
  'Unwind',
  'Apply',
  'Empty',
  'SingleRow',
  'LeftJoin',
  'Join',
  'AntiJoin',
  'SemiJoin',
  'MultiWayJoin',
  'ShortestPath',
  'Discriminant(51)',
  'CallProcedure',
]);

const procedures = new Set(['db.labels', 'db.relationshipTypes', 'db.propertyKeys']);

/** Operators inside an expression are printed as Rust writes them. */
const writingInside = /\b(Create|Merge|Delete|Set|Add|Remove|Load|Insert|Detach|Clear|Drop|Copy|Move)\w*Op\b/;

/**
 * Why a plan is not only reading; null when it is. A plan is one operator a line; what a caller wrote can only add lines, not take
 * one away.
 */
export function planProblem(plan: string): string | null {
  for (const line of plan.split('\n')) {
    const operator = /^\s*(Discriminant\(\d+\)|\w+)/.exec(line)?.[1];
    if (operator === undefined) {
      if (line.trim() === '') continue;
      return `the plan has a line that is no operator: ${line.trim().slice(0, 80)}`;
    }
    if (!reading.has(operator))
      return `the plan has the operator ${operator}, which is not known to only read`;
    const procedure = operator === 'CallProcedure' ? (/\(([^)]*)\)/.exec(line)?.[1] ?? '') : null;
    if (procedure !== null && !procedures.has(procedure))
      return `the procedure ${procedure} is not allowed; allowed are ${[...procedures].join(', ')}`;
  }
  return writingInside.test(withoutText(plan)) ? 'the plan writes inside an expression' : null;
}

function withoutText(plan: string): string {
  return plan.replaceAll(/"(?:\\.|[^"\\])*"/g, '""');
}
