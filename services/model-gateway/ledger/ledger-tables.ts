import type { DatabaseSync } from 'node:sqlite';
import { Failed } from '#kit/errors.ts';

/**
 * `calls.call` begins with the millisecond when the call began (see call-id.ts), so that the table is in the order of time.
 * `totals` has what the calls that ended came to, written in the same
 * commit; it stays when old calls go. `oldest_open`: no call before it is open.
 */
const tables = `
  CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE accounts (account INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, run TEXT) STRICT;
  CREATE TABLE calls (
    call INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    model INTEGER NOT NULL,
    upstream INTEGER NOT NULL,
    state INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    cache_writes INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    ms INTEGER NOT NULL,
    first_token_ms INTEGER
  ) STRICT;
  CREATE TABLE totals (
    account INTEGER NOT NULL,
    day TEXT NOT NULL,
    model INTEGER NOT NULL,
    upstream INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    aborted INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    unsettled INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    cache_writes INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (account, day, model, upstream)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    models TEXT,
    budget INTEGER,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    revoked_at TEXT
  ) STRICT;
  CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** From here on calls under way are in files of their own (see open-calls-log.ts) and come into `calls` when they end. */
const callsUnderWayElsewhere = '/* no table changes */';

/** Each entry brings the ledger from the version before it to its own; entries are only ever added. */
const versions: readonly string[] = [tables, callsUnderWayElsewhere];

/** @throws Failed (`ledger_newer`) */
export function migrate(db: DatabaseSync): void {
  const { user_version: present } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (present > versions.length) {
    throw new Failed(
      'ledger_newer',
      `the ledger is of version ${present}: this Core knows versions up to ${versions.length}`,
      { hint: 'Start the newer Core that wrote it, or choose another folder with --home DIR.' },
    );
  }
  for (let version = present; version < versions.length; version++) {
    db.exec(`BEGIN IMMEDIATE; ${versions[version]!}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}

/** Values of `calls.state`. */
export const callStates = { open: 0, done: 1, aborted: 2, failed: 3, unsettled: 4 } as const;
export type CallState = keyof typeof callStates;
