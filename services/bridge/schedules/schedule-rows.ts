import type { ScheduleResult } from '#kit/contracts/bridge/schedules.ts';
import { type Database, valuesTable } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';
import { Conflict, codeOf } from '#kit/errors.ts';
import { type Columns, DatabaseJobs, jobColumns, jobIndexes } from '#kit/jobs/database-jobs.ts';

/** How far a schedule has come. Times are milliseconds since 1970, by the clock of the database. */
export interface ScheduleRow {
  readonly evaluated_until: number;
  readonly result: ScheduleResult | null;
}

export interface SchedulesNow {
  readonly now: number;
  /** When the bus last called; null before the first time. */
  readonly lastTick: number | null;
  readonly rows: ReadonlyMap<string, ScheduleRow>;
}

/** A schedule that no other host evaluates meanwhile. */
export interface HeldSchedule extends ScheduleRow {
  readonly now: number;
  /**
   * Everything due up to `until` is done; `result` is left out where nothing was due.
   * @throws Conflict (`lease_lost`) where another host took it over meanwhile
   */
  passed(until: number, result?: ScheduleResult): Promise<void>;
  /** It is due still. @throws as `passed` */
  failed(result: ScheduleResult): Promise<void>;
}

interface Row {
  readonly evaluated_until: number;
  readonly result: string | null;
}

export function scheduleTables(types: ColumnTypes): string {
  const { text, integer, strict } = types;
  return `
    -- A job each, which is claimed while its schedule is evaluated, and pending otherwise.
    CREATE TABLE bridge_schedules (${jobColumns(types)},
      name ${text} NOT NULL UNIQUE,
      evaluated_until ${integer} NOT NULL,
      result ${text}
    )${strict};
    ${jobIndexes('bridge_schedules')}
    -- When the bus last called for schedules, whichever bridge it called.
    CREATE TABLE bridge_ticks (one ${integer} PRIMARY KEY CHECK (one = 1), at ${integer} NOT NULL)${strict};`;
}

/** Longer than a forge may take for its answer, in milliseconds. */
const leaseMs = 600_000;

/** How far schedules have come. Each is evaluated under a claim of its own. */
export class ScheduleRows {
  readonly #database: Database;
  readonly #jobs: DatabaseJobs;

  constructor(database: Database, options: { readonly leaseMs?: number } = {}) {
    this.#database = database;
    this.#jobs = new DatabaseJobs(database, { name: 'bridge_schedules', ready: 'true' }, options);
  }

  /** A schedule that was not there before begins now: what was due earlier is not made up for. */
  async begin(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const { text, values } = valuesTable(
      'given',
      { name: 'text' },
      names.map((name) => ({ name })),
    );
    await this.#database.write(
      `WITH ${text} INSERT INTO bridge_schedules (name, evaluated_until, state, due_at, changed_at)
      SELECT name, core_clock_ms(), 'pending', core_clock_ms(), core_clock_ms() FROM given WHERE true ON CONFLICT DO NOTHING`,
      values,
    );
  }

  /** The bus called. */
  async ticked(): Promise<void> {
    await this.#database.write(
      'INSERT INTO bridge_ticks (one, at) VALUES (1, core_clock_ms()) ON CONFLICT (one) DO UPDATE SET at = excluded.at',
    );
  }

  async read(): Promise<SchedulesNow> {
    const rows = await this.#database.query<
      ((Row & { name: string }) | { name: null }) & { now: number; tick: number | null }
    >(
      `SELECT clock.now, ticks.at AS tick, known.name, known.evaluated_until, known.result
      FROM (SELECT core_clock_ms() AS now) AS clock
      LEFT JOIN bridge_ticks AS ticks ON true LEFT JOIN bridge_schedules AS known ON true`,
    );
    const { now, tick } = rows[0]!;
    return {
      now,
      lastTick: tick,
      rows: new Map(rows.flatMap((row) => (row.name === null ? [] : [[row.name, scheduleRow(row)]]))),
    };
  }

  /** @returns false where another host evaluates it, and nothing was done */
  async alone(name: string, work: (held: HeldSchedule) => Promise<void>): Promise<boolean> {
    const taken = await this.#jobs.take(leaseMs, { name }, true);
    if (taken === null) return false;
    const { claim, row } = taken;
    let ended = false;
    const end = async (columns: Columns) => {
      ended = await this.#jobs.end(claim, { state: 'pending', ...columns });
      if (!ended) throw new Conflict('lease_lost', `schedule ${name} was taken over by another host`);
    };
    try {
      await work({
        ...scheduleRow(row as unknown as Row),
        now: row.changed_at as number,
        passed: (until, result) =>
          end({
            evaluated_until: until,
            ...(result === undefined ? {} : { result: JSON.stringify(result) }),
          }),
        failed: (result) => end({ result: JSON.stringify(result) }),
      });
      return true;
    } catch (error) {
      if (codeOf(error) === 'lease_lost') return false;
      throw error;
    } finally {
      // Otherwise its lease ends by itself.
      if (!ended) await this.#jobs.end(claim, { state: 'pending' }).catch(() => {});
    }
  }

  close(): void {
    this.#jobs.close();
  }
}

function scheduleRow({ evaluated_until, result }: Row): ScheduleRow {
  return {
    evaluated_until,
    result: result === null ? null : (JSON.parse(result) as ScheduleResult),
  };
}
