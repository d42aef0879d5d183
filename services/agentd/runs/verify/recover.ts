import type { RecordState } from '#kit/contracts/run.ts';
import { Conflict, messageOf } from '#kit/errors.ts';
import type { RecoveryRequest } from '../../agent.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import { beforeFirst, soundEvents } from '../log/event-line.ts';
import type { RunRecord } from './record.ts';

type RecordLog = Omit<RunRecord, 'artifacts'>;

/** Sound events at the beginning of a record, and the bytes after them. */
interface SoundPart {
  readonly events: readonly RunEvent[];
  /** Number of bytes in the lines of `events`. */
  readonly length: number;
  readonly rest: Uint8Array;
  /** Why the next line is not sound; null if at most an unfinished line follows. */
  readonly broken: string | null;
}

export function soundPart({ log, names }: RecordLog): SoundPart {
  const bytes = log ?? new Uint8Array();
  const { events, length, problem } = soundEvents(bytes);
  const broken = problem === null ? null : `${names.log} line ${events.length + 1}: ${messageOf(problem)}`;
  return { events, length, rest: bytes.subarray(length), broken };
}

/** State of a run's record, compared with its newest acknowledged event. */
export function stateOf(record: RecordLog): RecordState {
  const { run_id, acknowledged, log } = record;
  const part = soundPart(record);
  const { seq, hash } = part.events.at(-1) ?? beforeFirst;
  const recovery = part.events.findLast((event) => event.type === 'record_recovered');
  return {
    run_id,
    acknowledged: acknowledged === null ? null : { seq: acknowledged.seq, hash: acknowledged.hash },
    last_type: acknowledged?.type ?? null,
    kept: log === null ? null : { seq, hash },
    bytes_behind: part.rest.length,
    problem: part.broken ?? cutProblem(record, part.events) ?? record.problems[0]?.what ?? null,
    restorable: false,
    recovered: recovery === undefined ? null : { seq: recovery.seq, at: recovery.at, by: recovery.data.by },
  };
}

/** Difference between the events and the acknowledged event; null if there is none. */
function cutProblem({ acknowledged: held, names }: RecordLog, events: readonly RunEvent[]): string | null {
  if (held === null) return null;
  const seq = events.length;
  if (held.seq > seq) {
    const lost = seq + 1 === held.seq ? `event ${held.seq}` : `events ${seq + 1} to ${held.seq}`;
    return `${names.log} ends with event ${seq}, and ${lost} (${held.type}, hash ${held.hash.slice(0, 12)}) was acknowledged`;
  }
  const hash = events[held.seq - 1]?.hash ?? beforeFirst.hash;
  if (hash !== held.hash)
    return `event ${held.seq} of ${names.log} has the hash ${hash.slice(0, 12)}, and ${held.hash.slice(0, 12)} was acknowledged`;
  if (held.seq < seq) return `${names.log} goes on to event ${seq}, and only ${held.seq} were acknowledged`;
  return null;
}

/**
 * Event with which a cut record continues.
 * @param aside bytes after the last sound event, which are kept as an artifact; null if there are none
 * @throws Conflict (`record_whole`, `record_lost`)
 */
export function recovery(
  { by, reason }: RecoveryRequest,
  state: RecordState,
  aside: { readonly bytes: Uint8Array; readonly digest: string } | null,
): NewEvent {
  const { run_id, problem, acknowledged: lost, kept } = state;
  if (problem === null) throw new Conflict('record_whole', `the record of run ${run_id} is whole`);
  if (kept === null || kept.seq === 0) {
    throw new Conflict('record_lost', `nothing is left of the record of run ${run_id} to go on from`, {
      hint: 'Restore it from a backup, or plan the issue again.',
    });
  }
  const set_aside = aside === null ? null : { bytes: aside.bytes.length, artifact: aside.digest };
  return { type: 'record_recovered', data: { by: by.name, reason, lost, kept, set_aside } };
}
