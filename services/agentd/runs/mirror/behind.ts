import type { Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import type { RunEvent } from '../event.ts';
import type { HeadMark } from '../verify/record.ts';

/**
 * Events of a run that this host was acknowledged and the database does not have: a standby without the last transactions took over,
 * or an older copy was restored.
 */
export interface Behind {
  /** The newest one. */
  readonly head: HeadMark;
  /** Oldest first, as this host knows them. */
  readonly missing: readonly RunEvent[];
  /** Number of events that the database has before them. */
  readonly shared: number;
  /** Number of events that it has instead of them. */
  readonly others: number;
}

/**
 * What this host knows of a run and the database lacks; null if it lacks nothing.
 * @param known events by this host's folder or memory
 * @param events events in the database
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

/** What is to be looked for: what the database acknowledged, or what only this host knows of. */
export function newestHead(acknowledged: HeadMark | null, behind: Behind | null): HeadMark | null {
  if (behind === null) return acknowledged;
  const isLonger = acknowledged !== null && behind.others === 0 && acknowledged.seq >= behind.head.seq;
  return isLonger ? acknowledged : behind.head;
}

/** True if the database has this event, or an event `record_recovered` that names it among what was lost. */
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
