import type { DatabaseSync } from 'node:sqlite';
import type { ScheduleResult } from '#kit/contracts/bridge/schedules.ts';
import type { HeldSchedule, ScheduleRow, ScheduleRows, SchedulesNow } from '../../schedules/schedule-rows.ts';

/** Schedules in `queue.sqlite`, which one process has: nobody else looks at any. */
export class SqliteScheduleRows implements ScheduleRows {
  readonly #db: DatabaseSync;
  readonly #now: () => number;
  #lastTick: number | null = null;

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  async begin(names: readonly string[]): Promise<void> {
    const sql = 'INSERT INTO schedules (name, evaluated_until) VALUES (?, ?) ON CONFLICT DO NOTHING';
    for (const name of names) this.#db.prepare(sql).run(name, this.#now());
  }

  async ticked(): Promise<void> {
    this.#lastTick = this.#now();
  }

  async read(): Promise<SchedulesNow> {
    const rows = this.#db.prepare('SELECT name, evaluated_until, result FROM schedules').all();
    return {
      now: this.#now(),
      lastTick: this.#lastTick,
      rows: new Map(rows.map((row) => [String(row.name), scheduleRow(row)])),
    };
  }

  async alone(name: string, work: (held: HeldSchedule) => Promise<void>): Promise<boolean> {
    const sql = 'SELECT evaluated_until, result FROM schedules WHERE name = ?';
    await work({
      ...scheduleRow(this.#db.prepare(sql).get(name)!),
      now: this.#now(),
      passed: async (until, result) => this.#passed(name, until, result),
      failed: async (result) => this.#failed(name, result),
    });
    return true;
  }

  #passed(name: string, until: number, result?: ScheduleResult): void {
    const sql = 'UPDATE schedules SET evaluated_until = ?, result = coalesce(?, result) WHERE name = ?';
    this.#db.prepare(sql).run(until, result === undefined ? null : JSON.stringify(result), name);
  }

  #failed(name: string, result: ScheduleResult): void {
    const sql = 'UPDATE schedules SET result = ? WHERE name = ?';
    this.#db.prepare(sql).run(JSON.stringify(result), name);
  }
}

function scheduleRow({ evaluated_until, result }: Readonly<Record<string, unknown>>): ScheduleRow {
  return {
    evaluated_until: Number(evaluated_until),
    result: result === null ? null : (JSON.parse(String(result)) as ScheduleResult),
  };
}
