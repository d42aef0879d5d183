import type { QueryResult } from '@grafeo-db/js';
import { largestReply } from '../cypher-engine.ts';
import type { CallFailure, Calls } from './messages.ts';
import { renamed } from './parameters.ts';
import { plain } from './plain.ts';
import { planProblem } from './plan-gate.ts';
import { prepared } from './prepared.ts';
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
