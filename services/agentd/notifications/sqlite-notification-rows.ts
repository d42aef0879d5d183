import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makePrivateFolder } from '#kit/durable-file.ts';
import type { JobRows } from '#kit/jobs/durable-queue.ts';
import { jobColumns, SqliteJobs } from '#kit/jobs/sqlite-jobs.ts';
import { type DatabaseKind, openDatabase, transaction } from '#kit/storage/database.ts';
import type { RunChanges } from '../runs/run-store.ts';
import type { Job, Looked, NotificationRows, NotTaken, Target } from './notification-rows.ts';

/** `people`: since when somebody is notified. `seen`: bytes of each run's log as far as it was looked at. */
const tables = `
  CREATE TABLE jobs (${jobColumns},
    person TEXT NOT NULL,
    channel TEXT NOT NULL,
    notice_id TEXT NOT NULL,
    notice TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (person, channel, notice_id)
  ) STRICT;
  CREATE INDEX jobs_due ON jobs (due_at) WHERE state = 'pending';
  CREATE TABLE people (person TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE seen (run_id TEXT PRIMARY KEY, size INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

export const notificationsKind: DatabaseKind = {
  codePrefix: 'notifications',
  name: 'the queue of notifications',
  migrations: [tables],
  whenDamaged: 'Move it away to begin a new queue; what was not sent yet is lost.',
};

/** `<state>/notifications.sqlite`, made for the first person who is notified. */
export class SqliteNotificationRows implements NotificationRows {
  readonly #path: string;
  readonly #stateDir: string;
  readonly #now: () => number;
  #open: { readonly db: DatabaseSync; readonly jobs: JobRows } | null = null;

  constructor(stateDir: string, now: () => number) {
    this.#stateDir = stateDir;
    this.#path = join(stateDir, 'notifications.sqlite');
    this.#now = now;
  }

  get jobs(): JobRows {
    return this.#opened().jobs;
  }

  async exists(): Promise<boolean> {
    return this.#open !== null || existsSync(this.#path);
  }

  async begin({ sizes }: RunChanges): Promise<void> {
    if (await this.exists()) return;
    const { db } = this.#opened();
    transaction(db, () => this.#see(sizes));
  }

  async since(person: string): Promise<number> {
    const { db } = this.#opened();
    db.prepare('INSERT OR IGNORE INTO people VALUES (?, ?)').run(person, this.#now());
    return Number(db.prepare('SELECT since FROM people WHERE person = ?').get(person)!.since);
  }

  /** Runs of files have no positions. */
  async position(): Promise<null> {
    return null;
  }

  async unseen(sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    const rows = this.#opened()
      .db.prepare(
        'SELECT key, value FROM json_each(?) WHERE value IS NOT (SELECT size FROM seen WHERE run_id = key)',
      )
      .all(JSON.stringify(Object.fromEntries(sizes)));
    return new Map(rows.map(({ key, value }) => [String(key), Number(value)]));
  }

  async add(jobs: readonly Job[], { sizes }: Looked): Promise<number> {
    const { db } = this.#opened();
    const insert = db.prepare(
      `INSERT OR IGNORE INTO jobs (person, channel, notice_id, notice, state, due_at, created_at, changed_at)
        VALUES (?, ?, ?, ?, 'pending', ?, ?, ?)`,
    );
    const later = db.prepare(
      "SELECT max(due_at) AS due FROM jobs WHERE person = ? AND channel = ? AND state = 'pending' AND attempts > 0",
    );
    return transaction(db, () => {
      let added = 0;
      for (const { person, channel, notice, inMs } of jobs) {
        const now = this.#now();
        const due = Math.max(now + inMs, Number(later.get(person, channel)!.due ?? 0));
        const text = JSON.stringify(notice);
        added += Number(insert.run(person, channel, notice.id, text, due, now, now).changes);
      }
      this.#see(sizes);
      return added;
    });
  }

  async dueTargets(): Promise<readonly Target[]> {
    const now = this.#now();
    return this.#opened()
      .db.prepare(
        `SELECT DISTINCT person, channel FROM jobs
          WHERE (state = 'pending' AND due_at <= ?) OR (state = 'processing' AND claimed_until < ?)`,
      )
      .all(now, now) as unknown as Target[];
  }

  async notTaken(): Promise<NotTaken | null> {
    const row = this.#opened()
      .db.prepare(
        `SELECT count(*) AS n, min(created_at) AS oldest,
          (SELECT channel || ' of ' || person || ': ' || reason FROM jobs
            WHERE state = 'pending' AND attempts > 0 ORDER BY changed_at DESC LIMIT 1) AS message
          FROM jobs WHERE state = 'pending' AND attempts > 0`,
      )
      .get()!;
    if (Number(row.n) === 0) return null;
    const oldestMs = this.#now() - Number(row.oldest);
    return { waiting: Number(row.n), oldestMs, message: String(row.message) };
  }

  async close(): Promise<void> {
    this.#open?.db.close();
    this.#open = null;
  }

  #see(sizes: ReadonlyMap<string, number>): void {
    const put = this.#opened().db.prepare('INSERT OR REPLACE INTO seen VALUES (?, ?)');
    for (const [run, size] of sizes) put.run(run, size);
  }

  #opened() {
    if (this.#open === null) {
      makePrivateFolder(this.#stateDir);
      const db = openDatabase(this.#path, notificationsKind);
      const table = { name: 'jobs', ready: 'true', dueIndex: 'jobs_due' };
      this.#open = { db, jobs: new SqliteJobs(db, table, { now: this.#now }) };
    }
    return this.#open;
  }
}
