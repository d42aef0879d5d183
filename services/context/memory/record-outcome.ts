import type { OutcomeReply, OutcomeRequest } from '#kit/contracts/context/memory.ts';
import { NotFound, Refused } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { memoryById, memoryRow } from './memory-row.ts';
import { project } from './store-memory.ts';

/** Notes that a playbook worked or did not. Of one run the last word holds. */
export function recordMemoryOutcome(record: GraphRecord, request: OutcomeRequest): OutcomeReply {
  const { id, worked, run = null } = request;
  const row = memoryById(record.db, id);
  if (row === null) throw new NotFound('memory_not_found', `no memory has the id ${JSON.stringify(id)}`);
  if (row.layer !== 'procedural') {
    const rule = `${id} is of the layer ${row.layer}: only a procedural memory can work or fail`;
    throw new Refused('memory_not_procedural', rule);
  }
  putOutcome(record, row.memory, { run, worked, at: new Date().toISOString() });
  countOutcomes(record, row.memory);
  const { worked: times, failed } = memoryRow(record.db, row.memory);
  return { id, worked: times, failed };
}

export interface Outcome {
  readonly run: string | null;
  readonly worked: boolean;
  readonly at: string;
}

export function putOutcome(record: GraphRecord, memory: number, { run, worked, at }: Outcome): void {
  record
    .prepare(
      `INSERT INTO memory_outcomes (memory, run, worked, at) VALUES (?, ?, ?, ?)
       ON CONFLICT (memory, run) DO UPDATE SET worked = excluded.worked, at = excluded.at
       WHERE worked <> excluded.worked AND at <= excluded.at`,
    )
    .run(memory, run, worked ? 1 : 0, at);
}

/** Brings a playbook's counters to what its outcomes say. */
export function countOutcomes(record: GraphRecord, memory: number): void {
  record
    .prepare(
      `UPDATE memories SET
         worked = (SELECT count(*) FROM memory_outcomes o WHERE o.memory = memories.memory AND o.worked = 1),
         failed = (SELECT count(*) FROM memory_outcomes o WHERE o.memory = memories.memory AND o.worked = 0)
       WHERE memory = ?`,
    )
    .run(memory);
  project(record, memory);
}
