import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { jobColumns } from '#kit/jobs/sqlite-jobs.ts';
import { type DatabaseKind, openDatabase } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { storageError } from '#kit/storage/storage-error.ts';
import type { Removal } from '../../queue/pruning.ts';

/** Everything the bridge stores, held by this process alone. */
export interface BridgeDatabase {
  readonly db: DatabaseSync;
  readonly path: string;
  close(): void;
}

/**
 * `events` is in the order of arrival. `due_at` belongs to what is pending, `claim` and `claimed_until` to what is processed.
 * Deliveries of a forge sign no time: one with the body of another is that other one, whatever it calls itself.
 */
const tables = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    body_sha256 TEXT NOT NULL,
    facts TEXT NOT NULL,
    target TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'processing', 'done', 'skipped', 'dead')),
    received_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    claim TEXT,
    claimed_until INTEGER,
    run_id TEXT,
    reason_code TEXT,
    reason TEXT
  ) STRICT;
  CREATE INDEX events_by_state ON events (state);
  CREATE INDEX events_due ON events (due_at) WHERE state = 'pending';
  CREATE INDEX events_by_run ON events (run_id) WHERE run_id IS NOT NULL;
  CREATE UNIQUE INDEX forge_bodies ON events (source, body_sha256) WHERE source IN ('github', 'gitea');

  CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    dashboard TEXT NOT NULL,
    run_id TEXT NOT NULL,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    problem TEXT,
    UNIQUE (dashboard, run_id, status)
  ) STRICT;
  CREATE INDEX deliveries_by_state ON deliveries (dashboard, state);
  CREATE INDEX deliveries_waiting ON deliveries (dashboard, run_id, seq) WHERE state = 'waiting';

  CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    evaluated_until INTEGER NOT NULL,
    result TEXT
  ) STRICT, WITHOUT ROWID;
`;

/** What is old is found without a look at what is not; events of an issue are looked for where a forge gives all of it. */
const retentionAndContent = `
  ALTER TABLE events ADD COLUMN issue_sha256 TEXT;
  CREATE INDEX events_by_issue ON events (target, seq) WHERE issue_sha256 IS NOT NULL;
  CREATE INDEX events_ended ON events (changed_at) WHERE state IN ('done', 'skipped', 'dead');
  CREATE INDEX deliveries_ended ON deliveries (changed_at) WHERE state IN ('delivered', 'dead');
`;

/** How far each repository was asked for what its forge did not deliver; milliseconds since 1970, by the forge's clock. */
const catchUps = `
  CREATE TABLE catch_ups (
    forge TEXT NOT NULL,
    owner TEXT NOT NULL,
    repo TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (forge, owner, repo)
  ) STRICT, WITHOUT ROWID;
`;

/** Whatever kinds of forges there are: dashboards and schedules name their events themselves. */
const bodiesOfAnyForge = `
  DROP INDEX forge_bodies;
  CREATE UNIQUE INDEX forge_bodies ON events (source, body_sha256) WHERE source NOT IN ('dashboard', 'schedule');
`;

/** Deliveries are jobs of the same queue as events. */
const deliveriesAsJobs = `
  CREATE TABLE jobs (${jobColumns},
    dashboard TEXT NOT NULL,
    run_id TEXT NOT NULL,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (dashboard, run_id, status)
  ) STRICT;
  INSERT INTO jobs (seq, dashboard, run_id, status, body, state, attempts, due_at, changed_at, reason_code, reason)
    SELECT seq, dashboard, run_id, status, body,
      CASE state WHEN 'waiting' THEN 'pending' WHEN 'delivered' THEN 'done' ELSE state END,
      attempts, iif(state = 'waiting', due_at, NULL), changed_at, iif(problem IS NULL, NULL, 'delivery_failed'), problem
    FROM deliveries;
  DROP TABLE deliveries;
  ALTER TABLE jobs RENAME TO deliveries;
  CREATE INDEX deliveries_by_state ON deliveries (dashboard, state);
  CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending';
  CREATE INDEX deliveries_of_run ON deliveries (dashboard, run_id, seq) WHERE state IN ('pending', 'processing');
  CREATE INDEX deliveries_ended ON deliveries (changed_at) WHERE state IN ('done', 'skipped', 'dead');
`;

export const queueKind: DatabaseKind = {
  codePrefix: 'queue',
  name: 'the event queue',
  migrations: [tables, retentionAndContent, catchUps, bodiesOfAnyForge, deliveriesAsJobs],
  whenDamaged: 'Move it away to begin a new queue; dashboards have to send again what was pending.',
};

/**
 * Opens `<state>/bridge/queue.sqlite`, and makes it where it is missing. A commit is on the disk when it returns. Jobs that the
 * process before was working on are pending again.
 * @throws Conflict (`queue_held`), Failed (`queue_damaged`, `queue_newer`), Unavailable (`disk_full`)
 */
export function openBridgeDatabase(state: string): BridgeDatabase {
  const folder = join(state, 'bridge');
  const hold = holdFolder(folder, { code: 'queue_held', name: queueKind.name });
  const path = join(folder, 'queue.sqlite');
  let db: DatabaseSync | null = null;
  try {
    const opened = openDatabase(path, queueKind);
    db = opened;
    for (const table of ['events', 'deliveries']) {
      opened.exec(`
        UPDATE ${table} SET state = 'pending', due_at = coalesce(due_at, changed_at), claim = NULL, claimed_until = NULL
        WHERE state = 'processing'`);
    }
    return {
      db: opened,
      path,
      close() {
        opened.close();
        hold.release();
      },
    };
  } catch (error) {
    db?.close();
    hold.abandon();
    throw queueError(error, path);
  }
}

/** What SQLite reports about the queue, as an error for callers. */
export function queueError(error: unknown, path: string): unknown {
  return storageError(error, path, queueKind);
}

/** @returns how many rows went */
export function prune(db: DatabaseSync, removal: Removal, now: number): number {
  let removed = 0;
  for (const table of ['events', 'deliveries'] as const) {
    const { endedMs, deadMs } = removal[table];
    const { changes } = db
      .prepare(
        `DELETE FROM ${table} INDEXED BY ${table}_ended
          WHERE state IN ('done', 'skipped', 'dead') AND changed_at < ? AND (state <> 'dead' OR changed_at < ?)`,
      )
      .run(now - endedMs, now - deadMs);
    removed += Number(changes);
  }
  return removed;
}
