import type { ScheduleResult } from '#kit/contracts/bridge/schedules.ts';
import type { Database } from '#kit/database/database.ts';
import type { FencedLease, FencedLeases } from '#kit/database/fenced-leases.ts';
import { postgresText } from '#kit/database/postgres-text.ts';
import { codeOf } from '#kit/errors.ts';
import type { HeldSchedule, ScheduleRow, ScheduleRows, SchedulesNow } from '../../schedules/schedule-rows.ts';

interface Row {
  readonly now: string;
  readonly name: string;
  readonly evaluated_until: string;
  readonly result: string | null;
}

/** Schedules in the database that several bridges share: each is looked at under a lease of its own. */
export class PostgresScheduleRows implements ScheduleRows {
  readonly #database: Database;
  readonly #leases: FencedLeases;

  constructor(database: Database, leases: FencedLeases) {
    this.#database = database;
    this.#leases = leases;
  }

  async begin(names: readonly string[]): Promise<void> {
    await this.#database.query(
      `INSERT INTO bridge_schedules (name, evaluated_until) SELECT name, core_clock_ms() FROM unnest($1::text[]) AS given (name)
      ON CONFLICT DO NOTHING`,
      [names],
    );
  }

  async ticked(): Promise<void> {
    await this.#database.query(
      'INSERT INTO bridge_ticks (at) VALUES (core_clock_ms()) ON CONFLICT (the_one) DO UPDATE SET at = excluded.at',
    );
  }

  async read(): Promise<SchedulesNow> {
    const [{ now, tick, rows } = { now: '0', tick: null, rows: [] }] = await this.#database.query<{
      now: string;
      tick: string | null;
      rows: readonly Row[];
    }>(
      `SELECT core_clock_ms() AS now, (SELECT at FROM bridge_ticks) AS tick,
        (SELECT coalesce(jsonb_agg(to_jsonb(s.*)), '[]') FROM bridge_schedules AS s) AS rows`,
    );
    return {
      now: Number(now),
      lastTick: tick === null ? null : Number(tick),
      rows: new Map(rows.map((row) => [row.name, scheduleRow(row)])),
    };
  }

  async alone(name: string, work: (held: HeldSchedule) => Promise<void>): Promise<boolean> {
    const key = `bridge/schedule/${name}`;
    let lease: FencedLease | null = null;
    try {
      lease = await this.#leases.acquire(key);
      const [row] = await this.#database.query<Row>(
        'SELECT core_clock_ms() AS now, name, evaluated_until, result FROM bridge_schedules WHERE name = $1',
        [name],
      );
      await work({
        ...scheduleRow(row!),
        now: Number(row!.now),
        passed: (until, result) => this.#write(key, name, until, result),
        failed: (result) => this.#write(key, name, null, result),
      });
      return true;
    } catch (error) {
      if (['lease_held', 'lease_lost'].includes(codeOf(error))) return false;
      throw error;
    } finally {
      lease?.release();
    }
  }

  /** Of a host that lost its lease nothing is written. */
  async #write(
    key: string,
    name: string,
    until: number | null,
    result: ScheduleResult | undefined,
  ): Promise<void> {
    const text = result === undefined ? null : postgresText(JSON.stringify(result));
    await this.#database.transaction(async (sql) => {
      await this.#leases.fence(sql, key);
      await sql.query(
        'UPDATE bridge_schedules SET evaluated_until = coalesce($2, evaluated_until), result = coalesce($3, result) WHERE name = $1',
        [name, until, text],
      );
    });
  }
}

function scheduleRow({ evaluated_until, result }: Pick<Row, 'evaluated_until' | 'result'>): ScheduleRow {
  return {
    evaluated_until: Number(evaluated_until),
    result: result === null ? null : (JSON.parse(result) as ScheduleResult),
  };
}
