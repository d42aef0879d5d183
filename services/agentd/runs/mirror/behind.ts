import type { Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import type { RunEvent } from '../event.ts';
import type { HeadMark } from '../verify/record.ts';

/**
 * Acknowledged events of a run that this host knows and the database lacks. Either a standby without the last transactions took over,
 * or an older copy was restored.
 */
export interface Behind {
  /** Newest event that this host knows. */
  readonly head: HeadMark;
  /** Events that the database lacks, oldest first. */
  readonly missing: readonly RunEvent[];
  /** Number of events before them, which the database has. */
  readonly shared: number;
  /** Number of events that the database has instead of them. */
  readonly others: number;
}

/**
 * Compares the events of a run on this host with the events in the database.
 * @param known events in this host's folder or in the memory of this process
 * @param events events in the database
 * @returns null if the database lacks nothing
 */
export async function behindOf(
  sql: Sql,
  runId: string,
  known: readonly RunEvent[],
  events: readonly RunEvent[],
): Promise<Behind | null> {
  const last = known.at(-1);
  if (last === undefined || (await accountsFor(sql, runId, events, last))) return null;
  const parted = known.findIndex(({ hash }, index) => events[index]?.hash !== hash);
  const { seq, hash, type } = last;
  return {
    head: { seq, hash, type },
    missing: known.slice(parted),
    shared: parted,
    others: events.length - parted,
  };
}

/** Newest acknowledged event: the head in the database, or the newest event that only this host knows. */
export function newestHead(acknowledged: HeadMark | null, behind: Behind | null): HeadMark | null {
  if (behind === null) return acknowledged;
  const isLonger = acknowledged !== null && behind.others === 0 && acknowledged.seq >= behind.head.seq;
  return isLonger ? acknowledged : behind.head;
}

/** True if the database has this event, or if an event `record_recovered` records its loss. */
async function accountsFor(
  sql: Sql,
  runId: string,
  events: readonly RunEvent[],
  { seq, hash }: RunEvent,
): Promise<boolean> {
  if (events[seq - 1]?.hash === hash) return true;
  for (const event of events) {
    if (event.type !== 'record_recovered') continue;
    const { lost, set_aside } = event.data;
    if (lost?.hash === hash) return true;
    if (set_aside === null) continue;
    const [row] = await sql.query<{ content: Uint8Array | null }>(
      'SELECT content FROM run_artifacts WHERE run_id = $1 AND digest = $2',
      [runId, set_aside.artifact],
    );
    if (Buffer.from(row?.content ?? []).includes(`"hash":"${hash}"`)) return true;
  }
  return false;
}

export function databaseBehind(runId: string, found: Behind): Conflict {
  const { head, missing } = found;
  return new Conflict('database_behind', `${behindText(runId, found)}. Nothing of it runs here`, {
    facts: { run_id: runId, from_seq: missing[0]?.seq ?? head.seq, to_seq: head.seq },
    hint: `./core recover ${runId} on this host shows what is missing. Its mirror stays as it is until then.`,
  });
}

export function behindText(runId: string, { missing, others }: Behind): string {
  const [first] = missing;
  const count = missing.length;
  const instead = others === 0 ? '' : `; it went on with ${others} other event${others === 1 ? '' : 's'}`;
  return `the database is behind this host's mirror of run ${runId} by ${count} event${count === 1 ? '' : 's'}, from event ${first!.seq} (${first!.type})${instead}`;
}
