import type { QueryResult } from '@grafeo-db/js';
import { largestReply } from '../cypher-engine.ts';
import type { CallFailure, Calls } from './messages.ts';
import { planProblem } from './plan-gate.ts';
import { prepared, renamed } from './prepared.ts';
import type { ProjectionSnapshot } from './projection-file.ts';

/** Ends a call; its reason is told to the caller. */
export class CallRefused extends Error {
  readonly failure: CallFailure;

  constructor(kind: CallFailure['kind'], message: string, status: string | null = null) {
    super(message);
    this.failure = { kind, message, status };
  }
}

/** Runs a caller's text: only after its plan was seen to only read, and on a snapshot that cannot be written. */
export async function runText(
  { db }: ProjectionSnapshot,
  { rows: most, ...asked }: Calls['run']['input'],
): Promise<Calls['run']['output']> {
  const { query, params } = renamed(asked.query, asked.params);
  const text = prepared(query, most + 1);
  // The caller's own text first: what is wrong there is named by its place in it.
  for (const each of text === query ? [query] : [query, text]) {
    const problem = planProblem(String((await db.executeCypher(`EXPLAIN\n${each}`)).rows()[0]?.[0]));
    if (problem !== null) throw new CallRefused('refusal', problem);
  }
  const result = await db.executeCypher(text, params);
  return { columns: result.columns, rows: rowsOf(result, most), truncated: result.length > most };
}

function rowsOf(result: QueryResult, most: number): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  let bytes = 0;
  for (let index = 0; index < Math.min(result.length, most); index++) {
    const row = plain(Object.fromEntries(Object.entries(result.get(index)))) as Record<string, unknown>;
    bytes += JSON.stringify(row).length;
    if (bytes > largestReply) throw new CallRefused('too_large', `row ${index + 1} of the result`);
    rows.push(row);
  }
  return rows;
}

/** Grafeo's values as both engines give them. Entities carry fields that begin with `_`, which no property of ours does. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return plainInteger(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value !== 'object') return value ?? null;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return value.toISOString();
  const map = value as Record<string, unknown>;
  if ('_labels' in map) return { labels: sorted(map._labels), properties: properties(map) };
  if ('_type' in map) return { type: map._type, properties: properties(map) };
  if (isPath(map)) return { nodes: map.nodes.map(plain), relationships: map.edges.map(plain) };
  return Object.fromEntries(Object.entries(map).map(([key, each]) => [key, plain(each)]));
}

function plainInteger(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}

function properties(entity: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(entity).filter(([key]) => !key.startsWith('_'));
  return Object.fromEntries(
    own.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, plain(each)]),
  );
}

function sorted(labels: unknown): unknown {
  return Array.isArray(labels) ? labels.toSorted() : labels;
}

/** Two lists, the first of them of nodes: a path has at least one. */
function isPath(map: Record<string, unknown>): map is { nodes: unknown[]; edges: unknown[] } {
  const { nodes, edges } = map;
  if (Object.keys(map).length !== 2 || !Array.isArray(nodes) || !Array.isArray(edges)) return false;
  const first = nodes[0] as unknown;
  return typeof first === 'object' && first !== null && '_labels' in first;
}
