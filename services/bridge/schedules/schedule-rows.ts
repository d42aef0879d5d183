import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ScheduleResult } from '#kit/contracts/bridge/schedules.ts';

/** How far each schedule has come. Times are milliseconds since 1970. */
export class ScheduleRows {
  readonly #get: StatementSync;
  readonly #begin: StatementSync;
  readonly #passed: StatementSync;
  readonly #result: StatementSync;

  constructor(db: DatabaseSync) {
    this.#get = db.prepare('SELECT evaluated_until, result FROM schedules WHERE name = ?');
    this.#begin = db.prepare(
      'INSERT INTO schedules (name, evaluated_until) VALUES (?, ?) ON CONFLICT DO NOTHING',
    );
    this.#passed = db.prepare('UPDATE schedules SET evaluated_until = ?, result = ? WHERE name = ?');
    this.#result = db.prepare('UPDATE schedules SET result = ? WHERE name = ?');
  }

  /** A schedule that was not there before begins at `now`: what was due earlier is not made up for. */
  begin(name: string, now: number): void {
    this.#begin.run(name, now);
  }

  get(name: string): { readonly evaluated_until: number; readonly result: ScheduleResult | null } {
    const row = this.#get.get(name) as { evaluated_until: number; result: string | null };
    return {
      evaluated_until: row.evaluated_until,
      result: row.result === null ? null : (JSON.parse(row.result) as ScheduleResult),
    };
  }

  /** Everything due up to `until` is done; `result` is left out where nothing was due. */
  passed(name: string, until: number, result: ScheduleResult | null = this.get(name).result): void {
    this.#passed.run(until, result === null ? null : JSON.stringify(result), name);
  }

  /** It is due still. */
  failed(name: string, result: ScheduleResult): void {
    this.#result.run(JSON.stringify(result), name);
  }
}
