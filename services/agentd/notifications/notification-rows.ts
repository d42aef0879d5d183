import { type Database, type Sql, valuesTable } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';
import { DatabaseJobs, jobColumns, jobIndexes } from '#kit/jobs/database-jobs.ts';
import type { RunChanges } from '../runs/run-store.ts';
import type { Notice } from './notice.ts';

export interface Target {
  readonly person: string;
  readonly channel: string;
}

export interface Job extends Target {
  readonly notice: Notice;
  /** Milliseconds from now: not before. */
  readonly inMs: number;
}

/** Bytes of the log of each run that was looked at, and the position before which nothing else changed. */
export type Looked = Pick<RunChanges, 'sizes' | 'position'>;

/** What a receiver did not take so far. */
export interface NotTaken {
  readonly waiting: number;
  /** Milliseconds since the oldest of it was queued. */
  readonly oldestMs: number;
  /** Why the newest of it failed. */
  readonly message: string;
}

/** Times are milliseconds since 1970, by the clock of the database. */
export function notificationTables(types: ColumnTypes): string {
  const { text, integer, strict } = types;
  return `
    CREATE TABLE notification_jobs (${jobColumns(types)},
      person ${text} NOT NULL,
      channel ${text} NOT NULL,
      notice_id ${text} NOT NULL,
      notice ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      UNIQUE (person, channel, notice_id)
    )${strict};
    ${jobIndexes('notification_jobs')}
    -- Since when somebody is notified.
    CREATE TABLE notification_people (person ${text} PRIMARY KEY, since ${integer} NOT NULL)${strict};
    -- Bytes of each run's log as far as it was looked at.
    CREATE TABLE notification_seen (run_id ${text} PRIMARY KEY, size ${integer} NOT NULL)${strict};
    -- When the first person was to be notified, and how far changes of runs were looked at.
    CREATE TABLE notification_begin (one ${integer} PRIMARY KEY CHECK (one = 1), at ${integer} NOT NULL, position ${text})${strict};`;
}

const now = '(SELECT core_clock_ms())';
/** Rows that one statement takes. */
const maxRows = 1_000;

/**
 * Notifications that are still to be sent, and those that were: of all daemons on one database. Whichever finds one, it is there once,
 * and one of them sends it.
 */
export class NotificationRows {
  /** A row for each person, channel and notice. */
  readonly jobs: DatabaseJobs;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.jobs = new DatabaseJobs(database, { name: 'notification_jobs', ready: 'true' });
  }

  /** False before anybody was ever to be notified. */
  async exists(): Promise<boolean> {
    return (await this.#database.query('SELECT 1 FROM notification_begin')).length > 0;
  }

  /** Does nothing where it was begun. Runs as they are when the queue is begun are no news. */
  async begin({ sizes, position }: RunChanges): Promise<void> {
    if (await this.exists()) return;
    await this.#database.transaction(async (sql) => {
      const begun = await sql.query(
        'INSERT INTO notification_begin (one, at, position) VALUES (1, core_clock_ms(), $1) ON CONFLICT DO NOTHING RETURNING at',
        [position],
      );
      if (begun.length > 0) await see(sql, sizes);
    });
  }

  /** Since when somebody is notified, in milliseconds since 1970: from the first call on. */
  async since(person: string): Promise<number> {
    const ask = 'SELECT since FROM notification_people WHERE person = $1';
    const [known] = await this.#database.query<{ since: number }>(ask, [person]);
    if (known !== undefined) return known.since;
    await this.#database.write(
      'INSERT INTO notification_people (person, since) VALUES ($1, core_clock_ms()) ON CONFLICT DO NOTHING',
      [person],
    );
    return (await this.#database.query<{ since: number }>(ask, [person]))[0]!.since;
  }

  /** Since when changes of runs are to be looked at; null where everything is. */
  async position(): Promise<string | null> {
    const [row] = await this.#database.query<{ position: string | null }>(
      'SELECT position FROM notification_begin',
    );
    return row?.position ?? null;
  }

  /** Those whose log was not looked at as it is now. @param sizes bytes of each run's log */
  async unseen(sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    const changed = new Map<string, number>();
    for (const rows of pagesOf(sizes)) {
      const { text, values } = valuesTable('changed', { run_id: 'text', size: 'bigint' }, rows);
      const found = await this.#database.query<{ run_id: string; size: number }>(
        `WITH ${text} SELECT changed.run_id, changed.size FROM changed
        LEFT JOIN notification_seen AS seen ON seen.run_id = changed.run_id
        WHERE seen.size IS NULL OR seen.size <> changed.size`,
        values,
      );
      for (const { run_id, size } of found) changed.set(run_id, size);
    }
    return changed;
  }

  /**
   * Adds what is not there yet, behind what waits for its next attempt for the same target: a receiver that asked to be left alone is.
   * And that the runs were looked at, and all others that changed before `position`; in one commit. @returns how many were added
   */
  async add(jobs: readonly Job[], { sizes, position }: Looked): Promise<number> {
    const inOrder = jobs.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return this.#database.transaction(async (sql) => {
      let added = 0;
      for (const { person, channel, notice, inMs } of inOrder) {
        const rows = await sql.query(
          `INSERT INTO notification_jobs (person, channel, notice_id, notice, state, due_at, created_at, changed_at)
          SELECT $1, $2, $3, $4, 'pending', greatest(${now} + $5, (SELECT max(due_at) FROM notification_jobs
              WHERE person = $1 AND channel = $2 AND state = 'pending' AND attempts > 0)), ${now}, ${now}
          WHERE true ON CONFLICT DO NOTHING RETURNING seq`,
          [person, channel, notice.id, JSON.stringify(notice), Math.ceil(inMs)],
        );
        added += rows.length;
      }
      await see(sql, sizes);
      await sql.query('UPDATE notification_begin SET position = $1', [position]);
      return added;
    });
  }

  /** Whom something is due for now. */
  dueTargets(): Promise<readonly Target[]> {
    return this.#database.query<Target>(
      `SELECT DISTINCT person, channel FROM notification_jobs
      WHERE (state = 'pending' AND due_at <= ${now}) OR (state = 'processing' AND claimed_until < ${now})`,
    );
  }

  /** null where everything goes well. */
  async notTaken(): Promise<NotTaken | null> {
    const failed = "state = 'pending' AND attempts > 0";
    const [row] = await this.#database.query<{ n: number; oldest: number; message: string }>(
      `SELECT count(*) AS n, ${now} - min(created_at) AS oldest,
        (SELECT channel || ' of ' || person || ': ' || reason FROM notification_jobs
          WHERE ${failed} ORDER BY changed_at DESC LIMIT 1) AS message
      FROM notification_jobs WHERE ${failed}`,
    );
    const { n = 0, oldest = 0, message = '' } = row ?? {};
    return n === 0 ? null : { waiting: n, oldestMs: oldest, message };
  }

  async close(): Promise<void> {
    this.jobs.close();
    await this.#database.close();
  }
}

/** In an order, so that two daemons that write the same runs do not wait for each other. */
async function see(sql: Sql, sizes: ReadonlyMap<string, number>): Promise<void> {
  for (const rows of pagesOf(sizes)) {
    const { text, values } = valuesTable('changed', { run_id: 'text', size: 'bigint' }, rows);
    await sql.query(
      `WITH ${text} INSERT INTO notification_seen (run_id, size) SELECT run_id, size FROM changed WHERE true
      ON CONFLICT (run_id) DO UPDATE SET size = excluded.size`,
      values,
    );
  }
}

function pagesOf(sizes: ReadonlyMap<string, number>) {
  const rows = [...sizes].map(([run_id, size]) => ({ run_id, size }));
  rows.sort((a, b) => (a.run_id < b.run_id ? -1 : 1));
  return Array.from({ length: Math.ceil(rows.length / maxRows) }, (_, page) =>
    rows.slice(page * maxRows, (page + 1) * maxRows),
  );
}

function keyOf({ person, channel, notice }: Job): string {
  return JSON.stringify([person, channel, notice.id]);
}
