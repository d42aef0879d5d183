import type { JobRows } from '#kit/jobs/durable-queue.ts';
import { PostgresJobs } from '#kit/jobs/postgres-jobs.ts';
import type { Database, Sql } from '#kit/postgres/database.ts';
import { postgresText } from '#kit/postgres/postgres-text.ts';
import type { RunChanges } from '../runs/run-store.ts';
import type { Job, Looked, NotificationRows, NotTaken, Target } from './notification-rows.ts';

const table = { name: 'notification_jobs', ready: 'true', dueIndex: 'notification_jobs_due' };

/** Notifications of all daemons on one database: whichever finds one, it is there once, and one of them sends it. */
export class PostgresNotificationRows implements NotificationRows {
  readonly #database: Database;
  readonly #jobs: PostgresJobs;

  constructor(database: Database) {
    this.#database = database;
    this.#jobs = new PostgresJobs(database, table);
  }

  get jobs(): JobRows {
    return this.#jobs;
  }

  async exists(): Promise<boolean> {
    return (await this.#database.query('SELECT 1 FROM notification_begin')).length > 0;
  }

  async begin({ sizes, position }: RunChanges): Promise<void> {
    if (await this.exists()) return;
    await this.#database.transaction(async (sql) => {
      const begun = await sql.query(
        'INSERT INTO notification_begin (at, position) VALUES (core_clock_ms(), $1) ON CONFLICT DO NOTHING RETURNING at',
        [position],
      );
      if (begun.length > 0) await see(sql, sizes);
    });
  }

  async since(person: string): Promise<number> {
    const [row] = await this.#database.query<{ since: string }>(
      `WITH fresh AS (
        INSERT INTO notification_people (person, since) VALUES ($1, core_clock_ms()) ON CONFLICT DO NOTHING RETURNING since)
      SELECT since FROM fresh UNION ALL SELECT since FROM notification_people WHERE person = $1`,
      [person],
    );
    // Another daemon was faster: the next statement sees its row.
    return row === undefined ? this.since(person) : Number(row.since);
  }

  async position(): Promise<string | null> {
    const [row] = await this.#database.query<{ position: string | null }>(
      'SELECT position FROM notification_begin',
    );
    return row?.position ?? null;
  }

  async unseen(sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    if (sizes.size === 0) return sizes;
    const rows = await this.#database.query<{ run_id: string; size: string }>(
      `SELECT run_id, changed.size FROM unnest($1::text[], $2::bigint[]) AS changed (run_id, size)
      LEFT JOIN notification_seen AS seen USING (run_id) WHERE seen.size IS DISTINCT FROM changed.size`,
      [[...sizes.keys()], [...sizes.values()]],
    );
    return new Map(rows.map(({ run_id, size }) => [run_id, Number(size)]));
  }

  async add(jobs: readonly Job[], { sizes, position }: Looked): Promise<number> {
    const rows = jobs.map(({ person, channel, notice, inMs }) => ({
      ...{ person, channel, in_ms: Math.ceil(inMs) },
      notice_id: postgresText(notice.id),
      notice: postgresText(JSON.stringify(notice)),
    }));
    return this.#database.transaction(async (sql) => {
      const added = await sql.query(
        `INSERT INTO notification_jobs (person, channel, notice_id, notice, state, due_at, created_at, changed_at)
        SELECT person, channel, notice_id, notice, 'pending',
          greatest(core_clock_ms() + in_ms, (SELECT max(due_at) FROM notification_jobs AS before
            WHERE before.person = given.person AND before.channel = given.channel AND state = 'pending' AND attempts > 0)),
          core_clock_ms(), core_clock_ms()
        FROM json_to_recordset($1::json) AS given (person text, channel text, notice_id text, notice text, in_ms bigint)
        ORDER BY person, channel, notice_id
        ON CONFLICT DO NOTHING RETURNING seq`,
        [JSON.stringify(rows)],
      );
      await see(sql, sizes);
      await sql.query('UPDATE notification_begin SET position = $1', [position]);
      return added.length;
    });
  }

  dueTargets(): Promise<readonly Target[]> {
    return this.#database.query<Target>(
      `SELECT DISTINCT person, channel FROM notification_jobs
      WHERE (state = 'pending' AND due_at <= (SELECT core_clock_ms()))
        OR (state = 'processing' AND claimed_until < (SELECT core_clock_ms()))`,
    );
  }

  async notTaken(): Promise<NotTaken | null> {
    const [row] = await this.#database.query<{ n: string; oldest: string; message: string }>(
      `SELECT count(*) AS n, core_clock_ms() - min(created_at) AS oldest,
        (SELECT channel || ' of ' || person || ': ' || reason FROM notification_jobs
          WHERE state = 'pending' AND attempts > 0 ORDER BY changed_at DESC LIMIT 1) AS message
      FROM notification_jobs WHERE state = 'pending' AND attempts > 0`,
    );
    const waiting = Number(row?.n ?? 0);
    return waiting === 0 ? null : { waiting, oldestMs: Number(row!.oldest), message: row!.message };
  }

  async close(): Promise<void> {
    this.#jobs.close();
    await this.#database.close();
  }
}

/** In an order, so that two daemons that write the same runs do not wait for each other. */
async function see(sql: Sql, sizes: ReadonlyMap<string, number>): Promise<void> {
  const runs = [...sizes.keys()].sort();
  await sql.query(
    `INSERT INTO notification_seen (run_id, size) SELECT * FROM unnest($1::text[], $2::bigint[])
    ON CONFLICT (run_id) DO UPDATE SET size = excluded.size`,
    [runs, runs.map((run) => sizes.get(run)!)],
  );
}
