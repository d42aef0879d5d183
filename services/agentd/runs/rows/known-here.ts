import type { Sql } from '#kit/database/database.ts';
import { codeOf } from '#kit/errors.ts';
import type { RunEvent } from '../event.ts';
import { soundEvents } from '../log/event-line.ts';
import {
  accountsFor,
  type Behind,
  behindMirror,
  behindOf,
  databaseBehind,
  type MirrorPlace,
  mirrorHead,
} from './behind.ts';
import { keepInMirror, logOf } from './mirror.ts';
import { linesOf, type StoredRun } from './stored-runs.ts';

/** More than runs are worked on at once by one process. */
const maxRuns = 256;

/** What this host knows of runs beside the database: its mirrors, and what this process was acknowledged last. */
export class KnownHere {
  readonly #stateDir: string;
  readonly #acknowledged = new Map<string, StoredRun>();

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** This process was acknowledged what it appended. */
  put(stored: StoredRun): void {
    const { run_id } = stored.run;
    this.#acknowledged.delete(run_id);
    this.#acknowledged.set(run_id, stored);
    const [oldest] = this.#acknowledged.keys();
    if (this.#acknowledged.size > maxRuns) this.#acknowledged.delete(oldest!);
  }

  /** Oldest first; none where this process appended nothing. */
  acknowledged(runId: string): readonly RunEvent[] {
    return this.#acknowledged.get(runId)?.events ?? [];
  }

  /**
   * Before an append: what works on the run would go on from events that are not there. Keeps in the mirror what the database lost.
   * @param events what the database has
   * @throws Conflict (`database_behind`)
   */
  async require(
    sql: Sql,
    runId: string,
    events: readonly RunEvent[],
    known = this.acknowledged(runId),
  ): Promise<void> {
    const last = known.at(-1);
    const accounted = last === undefined || (await accountsFor(sql, runId, events, last));
    if (!accounted) this.#keep(runId, known);
    const found = await behindMirror(sql, this.#place(runId), events);
    if (found !== null) throw databaseBehind(runId, found);
    // Where the mirror could not take it.
    if (!accounted) throw databaseBehind(runId, behindOf(last, known, events));
    this.#forgetLost(runId, events);
  }

  /** What this host's mirror has and the database lacks; null where it lacks nothing. */
  async behind(sql: Sql, runId: string): Promise<Behind | null> {
    // Before the database: the mirror may get what is appended meanwhile.
    const head = mirrorHead(this.#place(runId));
    if (head === null) return null;
    const [row] = await sql.query<{ pruned: boolean }>(
      'SELECT tombstone IS NOT NULL AS pruned FROM runs WHERE run_id = $1',
      [runId],
    );
    if (row?.pruned === true) return null;
    return behindMirror(sql, this.#place(runId), soundEvents(logOf(await linesOf(sql, runId))).events, head);
  }

  /** The error for whoever asks for a run that the database does not have, and this host does. */
  async explain(sql: Sql, runId: string, error: unknown): Promise<unknown> {
    if (codeOf(error) !== 'run_not_found') return error;
    const found = await this.lost(sql, runId);
    return found === null ? error : databaseBehind(runId, found);
  }

  /** What this host has of a run that the database does not have; null where it has nothing either. */
  async lost(sql: Sql, runId: string): Promise<Behind | null> {
    const known = this.acknowledged(runId);
    if (known.length > 0) this.#keep(runId, known);
    return this.behind(sql, runId);
  }

  #keep(runId: string, events: readonly RunEvent[]): void {
    try {
      keepInMirror(this.#place(runId), events);
    } catch {
      // A full disk, for example: the next append tries again.
    }
  }

  /** A person let the run go on without what this process was acknowledged. */
  #forgetLost(runId: string, events: readonly RunEvent[]): void {
    const last = this.#acknowledged.get(runId)?.run.head;
    if (last !== undefined && events[last.seq - 1]?.hash !== last.hash) this.#acknowledged.delete(runId);
  }

  #place(runId: string): MirrorPlace {
    return { stateDir: this.#stateDir, runId };
  }
}
