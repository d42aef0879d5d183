import type { DatabaseSync } from 'node:sqlite';
import { Failed } from '#kit/errors.ts';

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

/** What is old is found without a look at what is not; events of an issue are looked for where a forge tells all of it. */
const retentionAndContent = `
  ALTER TABLE events ADD COLUMN issue_sha256 TEXT;
  CREATE INDEX events_by_issue ON events (target, seq) WHERE issue_sha256 IS NOT NULL;
  CREATE INDEX events_ended ON events (changed_at) WHERE state IN ('done', 'skipped', 'dead');
  CREATE INDEX deliveries_ended ON deliveries (changed_at) WHERE state IN ('delivered', 'dead');
`;

/** How far each repository was asked for what its forge's deliveries did not tell; milliseconds since 1970, by the forge's clock. */
const catchUps = `
  CREATE TABLE catch_ups (
    forge TEXT NOT NULL,
    owner TEXT NOT NULL,
    repo TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (forge, owner, repo)
  ) STRICT, WITHOUT ROWID;
`;

/** Each entry brings the queue from the version before it to its own; entries are only ever added. */
const versions: readonly string[] = [tables, retentionAndContent, catchUps];

/** @throws Failed (`queue_newer`) */
export function migrate(db: DatabaseSync): void {
  const { user_version: present } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (present > versions.length) {
    throw new Failed(
      'queue_newer',
      `the event queue is of version ${present}: this Core knows versions up to ${versions.length}`,
      { hint: 'Start the newer Core that wrote it, or choose another folder with --home DIR.' },
    );
  }
  for (let version = present; version < versions.length; version++) {
    db.exec(`BEGIN IMMEDIATE; ${versions[version]!}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}
