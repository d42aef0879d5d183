import type { Sql } from '#kit/database/database.ts';
import { decode } from '#kit/decode.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import { isRunning } from '#kit/storage/process-identity.ts';
import type { RunEvent } from '../event.ts';
import { beforeFirst, type Head, readLine } from '../log/event-line.ts';
import { fold, foldMore } from '../log/fold.ts';
import { recordCut } from '../log/heads.ts';
import { Tombstone, wasPruned } from '../log/open-runs.ts';
import { notFound } from '../log/run-folder.ts';
import { asSeen, isActive, type Run } from '../run.ts';
import { executorLease } from '../run-store.ts';

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

/** Who holds the executor's lease of a run, beside its row; all null where it expired or nobody took it. */
export interface Holder {
  readonly boot_id: string | null;
  readonly pid_namespace: string;
  readonly pid: number;
  readonly process_started: string;
  readonly host: string;
}

/** For queries of `runs`: whose executor lives, by the database's clock. */
export const holderColumns =
  'leases.boot_id, leases.pid_namespace, leases.pid, leases.process_started, leases.host';
export const withHolder = `LEFT JOIN leases ON leases.name = '${executorLease('')}' || runs.run_id AND leases.expires_at > (SELECT core_clock_ms())`;

interface HeadRow extends Holder {
  readonly seq: number;
  readonly hash: string;
  readonly type: string;
  readonly size: string;
  readonly tombstone: unknown;
}

const maxRuns = 64;

/** The runs that were used last, read and folded. A row that is as it was is not read again. */
export class StoredRuns {
  readonly #runs = new Map<string, StoredRun>();

  /** @param lock `FOR UPDATE`: nobody else appends to the run until the transaction ends */
  async read(sql: Sql, runId: string, lock: '' | 'FOR UPDATE OF runs' = ''): Promise<LookedAt> {
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

  /** What was appended, once it is committed. */
  put(runId: string, stored: StoredRun): void {
    this.#runs.delete(runId);
    this.#runs.set(runId, stored);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns) this.#runs.delete(oldest!);
  }

  async #upTo(sql: Sql, runId: string, row: HeadRow): Promise<StoredRun> {
    const known = this.#runs.get(runId);
    if (known?.run.head.hash === row.hash) return known;
    const stored = known === undefined ? null : await this.#after(sql, known, row);
    const whole = stored ?? (await this.#all(sql, runId, row));
    this.put(runId, whole);
    return whole;
  }

  /** null where what is known is no beginning of what is stored: rows were changed behind it. */
  async #after(sql: Sql, { run, events }: StoredRun, row: HeadRow): Promise<StoredRun | null> {
    const lines = await linesOf(sql, run.run_id, { after: run.head.seq, upTo: row.seq });
    try {
      const more = readEvents(run.run_id, lines, run.head);
      if (more.at(-1)?.hash !== row.hash) return null;
      return { run: foldMore(run, more), events: [...events, ...more], size: Number(row.size) };
    } catch {
      return null;
    }
  }

  async #all(sql: Sql, runId: string, row: HeadRow): Promise<StoredRun> {
    const events = readEvents(runId, await linesOf(sql, runId, { after: 0, upTo: row.seq }), beforeFirst);
    const last = events.at(-1) ?? beforeFirst;
    if (last.hash === row.hash) return { run: fold(runId, events), events, size: Number(row.size) };
    throw recordCut(
      runId,
      `its events end with ${last.seq}, hash ${last.hash.slice(0, 12)}, and event ${row.seq} (${row.type}, hash ${row.hash.slice(0, 12)}) was acknowledged`,
    );
  }
}

/** @throws the error of a run that was pruned */
export function requireKept(runId: string, tombstone: unknown): void {
  if (tombstone !== null) throw wasPruned(decode(Tombstone, tombstone, `tombstone of ${runId}`));
}

/** True of a run whose executor's lease is held by a process that may live. */
export function lives({ boot_id, ...others }: Holder): boolean {
  return boot_id !== null && isRunning({ boot_id, ...others }) !== false;
}

/** Lines of `events.jsonl` without their line feeds. A reader outside a transaction wants those up to the head that it saw. */
export async function linesOf(
  sql: Sql,
  runId: string,
  { after, upTo }: { readonly after: number; readonly upTo: number } = { after: 0, upTo: 2 ** 31 - 1 },
): Promise<string[]> {
  const rows = await sql.query<{ line: string }>(
    'SELECT line FROM run_events WHERE run_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq',
    [runId, after, upTo],
  );
  return rows.map(({ line }) => line);
}

function readEvents(runId: string, lines: readonly string[], after: Head): RunEvent[] {
  const events: RunEvent[] = [];
  for (const line of lines) {
    const head = events.at(-1) ?? after;
    try {
      events.push(readLine(Buffer.from(line), head));
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
