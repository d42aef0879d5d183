import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import type { RunEvent } from '../event.ts';
import { soundEvents } from '../log/event-line.ts';
import { type HeadMark, Heads } from '../log/heads.ts';
import { logName } from '../log/run-folder.ts';

/** Where this host keeps its mirror of a run. */
export interface MirrorPlace {
  readonly stateDir: string;
  readonly runId: string;
}

/**
 * Events of a run that this host was acknowledged and the database does not have: a standby without the last transactions took over,
 * or an older backup was restored.
 */
export interface Behind {
  /** The newest one. */
  readonly head: HeadMark;
  /** Oldest first, as this host knows them. */
  readonly missing: readonly RunEvent[];
  /** How many events the database has before them. */
  readonly shared: number;
  /** How many it has in their place. */
  readonly others: number;
}

/** What this host's mirror has and the database lacks; null where it lacks nothing. @param events what the database has */
export async function behindMirror(
  sql: Sql,
  place: MirrorPlace,
  events: readonly RunEvent[],
  head: HeadMark | null = mirrorHead(place),
): Promise<Behind | null> {
  if (head === null || (await accountsFor(sql, place.runId, events, head))) return null;
  return behindOf(head, mirroredEvents(place), events);
}

export function databaseBehind(runId: string, found: Behind): Conflict {
  const { head, missing } = found;
  return new Conflict('database_behind', `${behindText(runId, found)}. Nothing of it runs here`, {
    facts: { run_id: runId, from_seq: missing[0]?.seq ?? head.seq, to_seq: head.seq },
    hint: `./core recover ${runId} on this host shows what is missing. Its mirror stays as it is until then.`,
  });
}

export function behindText(runId: string, { head, missing, others }: Behind): string {
  const [first] = missing;
  const from = first === undefined ? `up to event ${head.seq}` : `from event ${first.seq} (${first.type})`;
  const count = Math.max(1, missing.length);
  const instead = others === 0 ? '' : `; it went on with ${others} other event${others === 1 ? '' : 's'}`;
  return `the database is behind this host's mirror of run ${runId} by ${count} event${count === 1 ? '' : 's'}, ${from}${instead}`;
}

/** The newest event of this host's mirror; null without a mirror, or where its head says nothing. */
export function mirrorHead({ stateDir, runId }: MirrorPlace): HeadMark | null {
  try {
    const known = new Heads(stateDir).read(runId);
    return known === null || known.pruned || known.acknowledged.seq === 0 ? null : known.acknowledged;
  } catch {
    // A mirror can be written again; verify reports its head.
    return null;
  }
}

export function mirroredEvents({ stateDir, runId }: MirrorPlace): readonly RunEvent[] {
  const path = join(stateDir, 'runs', runId, logName);
  return existsSync(path) ? soundEvents(readFileSync(path)).events : [];
}

/** @param known what this host has up to `head` */
export function behindOf(head: HeadMark, known: readonly RunEvent[], events: readonly RunEvent[]): Behind {
  const parted = known.findIndex(({ hash }, index) => events[index]?.hash !== hash);
  const shared = parted < 0 ? Math.min(known.length, events.length) : parted;
  return { head, missing: known.slice(shared, head.seq), shared, others: events.length - shared };
}

/** True where the database has this event, or an event `record_recovered` that names it among what was lost. */
export async function accountsFor(
  sql: Sql,
  runId: string,
  events: readonly RunEvent[],
  { seq, hash }: Pick<RunEvent, 'seq' | 'hash'>,
): Promise<boolean> {
  if (events[seq - 1]?.hash === hash) return true;
  for (const event of events) {
    if (event.type !== 'record_recovered') continue;
    const { lost, set_aside } = event.data;
    if (lost?.hash === hash) return true;
    if (set_aside === null) continue;
    const [row] = await sql.query<{ content: Buffer | null }>(
      'SELECT content FROM run_artifacts WHERE run_id = $1 AND digest = $2',
      [runId, set_aside.artifact],
    );
    if (row?.content?.includes(`"hash":"${hash}"`)) return true;
  }
  return false;
}
