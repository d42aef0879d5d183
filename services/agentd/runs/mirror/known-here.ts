import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Sql } from '#kit/database/database.ts';
import { Conflict, codeOf } from '#kit/errors.ts';
import type { RunEvent } from '../event.ts';
import { soundEvents } from '../log/event-line.ts';
import { tombstoneName } from '../log/run-folder.ts';
import { eventRows, logOf } from '../rows/record-in-rows.ts';
import type { StoredRun } from '../rows/stored-runs.ts';
import { type Behind, behindOf, databaseBehind } from './behind.ts';
import { folderOf, logStats, mirroredEvents } from './run-folder-log.ts';
import { keepInMirror } from './write-mirror.ts';

/** Maximum number of runs in memory. One process works on fewer runs at a time. */
const maxRuns = 256;

/** Events that this host knows without the database: from its mirrors, and from acknowledged appends of this process. */
export class KnownHere {
  readonly #stateDir: string;
  readonly #acknowledged = new Map<string, StoredRun>();
  readonly #folders = new Map<string, { readonly stamp: string; readonly events: readonly RunEvent[] }>();

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Remembers a run after the database acknowledged an append of this process. */
  put(stored: StoredRun): void {
    putLast(this.#acknowledged, stored.run.run_id, stored);
  }

  /** Acknowledged events, oldest first; none if this process appended nothing to the run. */
  acknowledged(runId: string): readonly RunEvent[] {
    return this.#acknowledged.get(runId)?.events ?? [];
  }

  /**
   * Refuses work on a run if the database lost events that this host knows. Saves events that only this process has to the mirror.
   * @param events events in the database
   * @throws Conflict (`database_behind`)
   */
  async require(
    sql: Sql,
    runId: string,
    events: readonly RunEvent[],
    known = this.acknowledged(runId),
  ): Promise<void> {
    this.requireNotPruned(runId);
    const lost = await behindOf(sql, runId, known, events);
    if (lost !== null) this.#keep(runId, known);
    const found = (await behindOf(sql, runId, this.#mirrored(runId), events)) ?? lost;
    if (found !== null) throw databaseBehind(runId, found);
    this.#forgetLost(runId, events);
  }

  /** Checks a run that the database has. @throws Conflict (`database_behind`) if this host has a tombstone of it */
  requireNotPruned(runId: string): void {
    if (!existsSync(join(folderOf({ stateDir: this.#stateDir, runId }), tombstoneName))) return;
    throw new Conflict(
      'database_behind',
      `run ${runId} was pruned on this host, and the database has it as it was before: an older copy of it was put back. Nothing of it runs here`,
      { facts: { run_id: runId }, hint: './core prune --older-than 0d --runs removes it again.' },
    );
  }

  /** Events that this host's mirror has and the database lacks; null if it lacks none. */
  async behind(sql: Sql, runId: string): Promise<Behind | null> {
    // Reads the mirror before the database: events appended in between would otherwise look lost.
    const mirrored = this.#mirrored(runId);
    if (mirrored.length === 0) return null;
    const [row] = await sql.query<{ tombstone: string | null }>(
      'SELECT tombstone FROM runs WHERE run_id = $1',
      [runId],
    );
    if ((row?.tombstone ?? null) !== null) return null;
    return behindOf(sql, runId, mirrored, soundEvents(logOf(await eventRows(sql, runId))).events);
  }

  /** Replaces `run_not_found` with `database_behind` if this host has the run. */
  async explain(sql: Sql, runId: string, error: unknown): Promise<unknown> {
    if (codeOf(error) !== 'run_not_found') return error;
    const found = await this.lost(sql, runId);
    return found === null ? error : databaseBehind(runId, found);
  }

  /** Same as `behind`, after saving events that only this process has to the mirror. */
  async lost(sql: Sql, runId: string): Promise<Behind | null> {
    const known = this.acknowledged(runId);
    if (known.length > 0) this.#keep(runId, known);
    return this.behind(sql, runId);
  }

  #keep(runId: string, events: readonly RunEvent[]): void {
    try {
      keepInMirror({ stateDir: this.#stateDir, runId }, events);
    } catch {
      // The disk may be full. The next append tries again.
    }
  }

  /** The folder's events, read again if its log changed. */
  #mirrored(runId: string): readonly RunEvent[] {
    const place = { stateDir: this.#stateDir, runId };
    const stats = logStats(place);
    if (stats === null) return [];
    const stamp = `${stats.ino}:${stats.size}:${stats.ctimeMs}`;
    const known = this.#folders.get(runId);
    if (known?.stamp === stamp) return known.events;
    const events = mirroredEvents(place);
    putLast(this.#folders, runId, { stamp, events });
    return events;
  }

  /** Forgets acknowledged events whose loss a person has accepted. */
  #forgetLost(runId: string, events: readonly RunEvent[]): void {
    const last = this.#acknowledged.get(runId)?.run.head;
    if (last !== undefined && events[last.seq - 1]?.hash !== last.hash) this.#acknowledged.delete(runId);
  }
}

/** Drops the oldest entry of a map that is too large. */
function putLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxRuns) map.delete(oldest!);
}
