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

/** Run as last read: its events and their folded state, regardless of whether a process works on it. */
export interface StoredRun {
  readonly run: Run;
  readonly events: readonly RunEvent[];
  /** Stored lines of the events, without line feeds. */
  readonly lines: readonly string[];
  /** Number of bytes in all lines. */
  readonly size: number;
}

/** Run, and whether a process may be working on it. */
export interface LookedAt {
  readonly stored: StoredRun;
  readonly worked: boolean;
}

/** Run as callers see it: an active run is interrupted if no process works on it. */
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

/** Cache of the runs used last. Decodes only lines that changed. */
export class StoredRuns {
  readonly #runs = new Map<string, StoredRun>();

  /** Reads a run to show it. Reads no events if the head is unchanged. */
  async read(sql: Sql, runId: string): Promise<LookedAt> {
    const row = await headRow(sql, runId);
    const known = this.#runs.get(runId);
    const isKnown = known !== undefined && isHead(known.run.head, row);
    if (isKnown) return { stored: known, worked: lives(row) };
    // More events may be appended meanwhile.
    const rows = await eventRows(sql, runId, { after: 0, upTo: row.seq });
    return { stored: this.#decoded(runId, row, rows), worked: lives(row) };
  }

  /** Reads all rows of a run to change it. No other process can append to the run until the transaction ends. */
  async readLocked(sql: Sql, runId: string): Promise<LookedAt> {
    const row = await headRow(sql, runId, rowLock(sql, 'FOR UPDATE OF runs'));
    return { stored: this.#decoded(runId, row, await eventRows(sql, runId)), worked: lives(row) };
  }

  /** Caches a run, only after its events are committed. */
  put(runId: string, stored: StoredRun): void {
    this.#runs.delete(runId);
    this.#runs.set(runId, stored);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns) this.#runs.delete(oldest!);
  }

  #decoded(runId: string, row: HeadRow, rows: readonly EventRow[]): StoredRun {
    const known = this.#runs.get(runId);
    const events = readEvents(runId, rows, known);
    const last = events.at(-1) ?? beforeFirst;
    if (!isHead(last, row))
      throw recordCut(
        runId,
        `its events end with ${last.seq}, hash ${last.hash.slice(0, 12)}, and event ${row.seq} (${row.type}, hash ${row.hash.slice(0, 12)}) was acknowledged`,
      );
    const goesOn = known !== undefined && events[known.events.length - 1] === known.events.at(-1);
    const run = goesOn ? foldMore(known.run, events.slice(known.events.length)) : fold(runId, events);
    const stored = { run, events, lines: rows.map(({ line }) => line), size: row.size };
    this.put(runId, stored);
    return stored;
  }
}

async function headRow(sql: Sql, runId: string, lock = ''): Promise<HeadRow> {
  const [row] = await sql.query<HeadRow>(
    `SELECT runs.seq, runs.hash, runs.type, runs.size, runs.tombstone, ${holderColumns}
     FROM runs ${withHolder} WHERE runs.run_id = $1 ${lock}`,
    [runId],
  );
  if (row === undefined) throw notFound(runId);
  requireKept(runId, row.tombstone);
  return row;
}

function isHead({ seq, hash }: Head, row: HeadRow): boolean {
  return seq === row.seq && hash === row.hash;
}

/** @param known earlier state; equal lines at the beginning are not decoded again */
function readEvents(runId: string, rows: readonly EventRow[], known: StoredRun | undefined): RunEvent[] {
  const events: RunEvent[] = [];
  let isSame = known !== undefined;
  for (const [index, { line, ...columns }] of rows.entries()) {
    const head = events.at(-1) ?? beforeFirst;
    isSame &&= known!.lines[index] === line;
    try {
      const event = isSame ? known!.events[index]! : readLine(Buffer.from(line), head);
      requireColumns(event, columns);
      events.push(event);
    } catch (cause) {
      throw new Failed(
        'run_damaged',
        `run ${runId} cannot be read: event ${head.seq + 1}: ${messageOf(cause)}`,
        {
          cause,
          hint: `./core verify ${runId} shows what was changed, and ./core recover ${runId} shows how to continue.`,
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
