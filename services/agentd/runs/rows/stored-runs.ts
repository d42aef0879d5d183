import { rowLock, type Sql } from '#kit/database/database.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import type { RunEvent } from '../event.ts';
import { beforeFirst, type Head, readLine } from '../log/event-line.ts';
import { fold, foldMore } from '../log/fold.ts';
import { notFound } from '../log/run-folder.ts';
import { requireKept } from '../log/tombstone.ts';
import { asSeen, isActive, type Run } from '../run.ts';
import { recordCut } from '../verify/record.ts';
import { type Holder, holderColumns, lives, withHolder } from './holder.ts';
import { type EventRow, eventRows } from './record-in-rows.ts';

/** A run as it was read last: its events and what they fold to, without regard to who works on it. */
export interface StoredRun {
  readonly run: Run;
  readonly events: readonly RunEvent[];
  /** Bytes of all lines. */
  readonly size: number;
}

/** A run, and whether a process that may live works on it. */
export interface LookedAt {
  readonly stored: StoredRun;
  readonly worked: boolean;
}

/** The run for whoever looks: interrupted where nobody works on it. */
export function seenRun({ stored: { run }, worked }: LookedAt): Run {
  return isActive(run.status) ? asSeen(run, worked) : run;
}

interface HeadRow extends Holder {
  readonly seq: number;
  readonly hash: string;
  readonly type: string;
  readonly size: number;
  readonly tombstone: string | null;
}

const maxRuns = 64;

/** The runs that were used last, read and folded. A row that is as it was is not read again. */
export class StoredRuns {
  readonly #runs = new Map<string, StoredRun>();

  /** As it is now. In a transaction nobody else appends to it until that ends. */
  async readLocked(sql: Sql, runId: string): Promise<LookedAt> {
    return this.read(sql, runId, rowLock(sql, 'FOR UPDATE OF runs'));
  }

  async read(sql: Sql, runId: string, lock = ''): Promise<LookedAt> {
    const [row] = await sql.query<HeadRow>(
      `SELECT runs.seq, runs.hash, runs.type, runs.size, runs.tombstone, ${holderColumns}
       FROM runs ${withHolder} WHERE runs.run_id = $1 ${lock}`,
      [runId],
    );
    if (row === undefined) throw notFound(runId);
    requireKept(runId, row.tombstone);
    return { stored: await this.#upTo(sql, runId, row), worked: lives(row) };
  }

  /** As it was read or appended to last; null of a run that is not among those. */
  last(runId: string): StoredRun | null {
    return this.#runs.get(runId) ?? null;
  }

  /** The next reader reads all of it. */
  forget(runId: string): void {
    this.#runs.delete(runId);
  }

  /** What was appended, once it is committed. */
  put(runId: string, stored: StoredRun): void {
    this.#runs.delete(runId);
    this.#runs.set(runId, stored);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns) this.#runs.delete(oldest!);
  }

  async #upTo(sql: Sql, runId: string, row: HeadRow): Promise<StoredRun> {
    const known = this.#runs.get(runId);
    if (known !== undefined && isHead(known.run.head, row)) return known;
    const stored = known === undefined ? null : await this.#after(sql, known, row);
    const whole = stored ?? (await this.#all(sql, runId, row));
    this.put(runId, whole);
    return whole;
  }

  /** null where what is known is no beginning of what is stored: rows were changed behind it. */
  async #after(sql: Sql, { run, events }: StoredRun, row: HeadRow): Promise<StoredRun | null> {
    const lines = await eventRows(sql, run.run_id, { after: run.head.seq, upTo: row.seq });
    try {
      const more = readEvents(run.run_id, lines, run.head);
      if (!isHead(more.at(-1) ?? run.head, row)) return null;
      return { run: foldMore(run, more), events: [...events, ...more], size: row.size };
    } catch {
      return null;
    }
  }

  async #all(sql: Sql, runId: string, row: HeadRow): Promise<StoredRun> {
    const events = readEvents(runId, await eventRows(sql, runId, { after: 0, upTo: row.seq }), beforeFirst);
    const last = events.at(-1) ?? beforeFirst;
    if (isHead(last, row)) return { run: fold(runId, events), events, size: row.size };
    throw recordCut(
      runId,
      `its events end with ${last.seq}, hash ${last.hash.slice(0, 12)}, and event ${row.seq} (${row.type}, hash ${row.hash.slice(0, 12)}) was acknowledged`,
    );
  }
}

function isHead({ seq, hash }: Head, row: HeadRow): boolean {
  return seq === row.seq && hash === row.hash;
}

function readEvents(runId: string, rows: readonly EventRow[], after: Head): RunEvent[] {
  const events: RunEvent[] = [];
  for (const { line, ...columns } of rows) {
    const head = events.at(-1) ?? after;
    try {
      const event = readLine(Buffer.from(line), head);
      requireColumns(event, columns);
      events.push(event);
    } catch (cause) {
      throw new Failed(
        'run_damaged',
        `run ${runId} cannot be read: event ${head.seq + 1}: ${messageOf(cause)}`,
        {
          cause,
          hint: `./core verify ${runId} says what was changed where, ./core recover ${runId} how to go on.`,
        },
      );
    }
  }
  return events;
}

function requireColumns({ seq, prev, hash }: RunEvent, columns: Omit<EventRow, 'line'>): void {
  if (seq !== columns.seq || prev !== columns.prev || hash !== columns.hash)
    throw new TypeError('its columns seq, prev and hash are not those of the line');
}
