import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Backlog } from '#kit/contracts/health.ts';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { DurableQueue, type JobClaim } from '#kit/jobs/durable-queue.ts';
import { jobColumns, SqliteJobs } from '#kit/jobs/sqlite-jobs.ts';
import { type DatabaseKind, openDatabase, transaction } from '#kit/storage/database.ts';
import type { Notice } from './notice.ts';

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

const kind: DatabaseKind = {
  codePrefix: 'notifications',
  name: 'the queue of notifications',
  migrations: [tables],
  whenDamaged: 'Move it away to begin a new queue; what was not sent yet is lost.',
};

/** Twelve attempts outlast nine hours. */
const retry = { attempts: 12, first: 10, max: 3_600 };
/** Longer than a message may take. */
const leaseMs = 60_000;
/** Of one message. */
const maxNotices = 100;

export interface Target {
  readonly person: string;
  readonly channel: string;
}

export interface Job extends Target {
  readonly notice: Notice;
  /** Milliseconds since 1970: not before. */
  readonly due_at: number;
}

export interface Claimed {
  readonly claim: JobClaim;
  readonly notice: Notice;
}

/** `<state>/notifications.sqlite`: notifications that are still to be sent, and those that were. Made for the first person who is notified. */
export class NotificationQueue {
  readonly #path: string;
  readonly #stateDir: string;
  readonly #now: () => number;
  #open: { readonly db: DatabaseSync; readonly queue: DurableQueue } | null = null;

  constructor(stateDir: string, now: () => number = Date.now) {
    this.#stateDir = stateDir;
    this.#path = join(stateDir, 'notifications.sqlite');
    this.#now = now;
  }

  /** False before anybody was ever to be notified. */
  get exists(): boolean {
    return this.#open !== null || existsSync(this.#path);
  }

  /** Runs as they are when the queue is begun are no news. */
  begin(sizes: ReadonlyMap<string, number>): void {
    if (this.exists) return;
    const { db } = this.#opened();
    transaction(db, () => this.#see(sizes));
  }

  /** Since when somebody is notified, in milliseconds since 1970: from the first call on. */
  since(person: string): number {
    const { db } = this.#opened();
    db.prepare('INSERT OR IGNORE INTO people VALUES (?, ?)').run(person, this.#now());
    return Number(db.prepare('SELECT since FROM people WHERE person = ?').get(person)!.since);
  }

  seen(): ReadonlyMap<string, number> {
    const rows = this.#opened().db.prepare('SELECT run_id, size FROM seen').all();
    return new Map(rows.map(({ run_id, size }) => [String(run_id), Number(size)]));
  }

  /** Adds what is not there yet, and that the runs were looked at; in one commit. @returns how many were added */
  add(jobs: readonly Job[], looked: ReadonlyMap<string, number>): number {
    const { db } = this.#opened();
    const insert = db.prepare(
      `INSERT OR IGNORE INTO jobs (person, channel, notice_id, notice, state, due_at, created_at, changed_at)
        VALUES (?, ?, ?, ?, 'pending', ?, ?, ?)`,
    );
    // Behind what failed already: a receiver that asked to be left alone is.
    const later = db.prepare(
      "SELECT max(due_at) AS due FROM jobs WHERE person = ? AND channel = ? AND state = 'pending' AND attempts > 0",
    );
    return transaction(db, () => {
      let added = 0;
      for (const { person, channel, notice, due_at } of jobs) {
        const due = Math.max(due_at, Number(later.get(person, channel)!.due ?? 0));
        const now = this.#now();
        const text = JSON.stringify(notice);
        added += Number(insert.run(person, channel, notice.id, text, due, now, now).changes);
      }
      this.#see(looked);
      return added;
    });
  }

  #see(sizes: ReadonlyMap<string, number>): void {
    const put = this.#opened().db.prepare('INSERT OR REPLACE INTO seen VALUES (?, ?)');
    for (const [run, size] of sizes) put.run(run, size);
  }

  /** Whom something is due for now. */
  dueTargets(): readonly Target[] {
    const now = this.#now();
    return this.#opened()
      .db.prepare(
        `SELECT DISTINCT person, channel FROM jobs
          WHERE (state = 'pending' AND due_at <= ?) OR (state = 'processing' AND claimed_until < ?)`,
      )
      .all(now, now) as unknown as Target[];
  }

  /** Everything that is due for one target, for one message. */
  async claim({ person, channel }: Target): Promise<Claimed[]> {
    const claimed: Claimed[] = [];
    while (claimed.length < maxNotices) {
      const taken = await this.#opened().queue.claim(leaseMs, { person, channel });
      if (taken === null) break;
      claimed.push({ claim: taken.claim, notice: JSON.parse(String(taken.row.notice)) as Notice });
    }
    return claimed;
  }

  async done(claim: JobClaim): Promise<void> {
    await this.#opened().queue.done(claim);
  }

  async skipped(claim: JobClaim, message: string): Promise<void> {
    await this.#opened().queue.skipped(claim, { code: 'settled', message });
  }

  /** @returns false where the message is given up */
  async failed(claims: readonly JobClaim[], message: string, minSeconds: number): Promise<boolean> {
    const { queue } = this.#opened();
    const attempts = Math.max(...claims.map((claim) => claim.attempts));
    // All of them at once, so that they stay one message.
    const together = Math.min(retry.max, retry.first * 6 ** Math.min(attempts, 20)) * 1.2;
    for (const claim of claims)
      await queue.failed(claim, { code: 'delivery_failed', message }, Math.max(minSeconds, together));
    return !claims.every((claim) => queue.isLast(claim));
  }

  /** Tried at another time; no attempt is counted. */
  async postponed(claim: JobClaim, seconds: number): Promise<void> {
    await this.#opened().queue.postponed(claim, { code: 'quiet_hours', message: 'quiet hours' }, seconds);
  }

  async counts(): Promise<Readonly<Record<string, number>>> {
    return this.exists ? this.#opened().queue.counts() : {};
  }

  /** What a receiver did not take so far, and why the newest of it failed; null where everything goes well. */
  problem(): { readonly backlog: Backlog; readonly message: string } | null {
    if (!this.exists) return null;
    const row = this.#opened()
      .db.prepare(
        `SELECT count(*) AS n, min(created_at) AS oldest,
          (SELECT channel || ' of ' || person || ': ' || reason FROM jobs
            WHERE state = 'pending' AND attempts > 0 ORDER BY changed_at DESC LIMIT 1) AS message
          FROM jobs WHERE state = 'pending' AND attempts > 0`,
      )
      .get()!;
    if (Number(row.n) === 0) return null;
    const oldest_seconds = Math.round((this.#now() - Number(row.oldest)) / 1000);
    return { backlog: { waiting: Number(row.n), oldest_seconds }, message: String(row.message) };
  }

  close(): void {
    this.#open?.db.close();
    this.#open = null;
  }

  #opened() {
    if (this.#open === null) {
      makePrivateFolder(this.#stateDir);
      const db = openDatabase(this.#path, kind);
      const table = { name: 'jobs', ready: 'true', dueIndex: 'jobs_due' };
      this.#open = { db, queue: new DurableQueue(new SqliteJobs(db, table, { now: this.#now }), retry) };
    }
    return this.#open;
  }
}
