import type { DatabaseKind } from '#kit/storage/database.ts';

/**
 * `calls.call` begins with the millisecond when the call began (see call-id.ts), so that the table is in the order of time.
 * `totals` has what the calls that ended came to, written in the same
 * commit; it stays when old calls go.
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

/** Calls under way were in files of their own (see earlier-open-calls.ts). */
const callsUnderWayElsewhere = '/* no table changes */';

/** Calls under way are in `calls` again, where they are found without looking at all. */
const callsUnderWay = 'CREATE INDEX IF NOT EXISTS calls_under_way ON calls (call) WHERE state = 0';

export const ledgerKind: DatabaseKind = {
  codePrefix: 'ledger',
  name: 'the ledger',
  whenDamaged: 'Move it away to begin a new ledger; what was used so far is then not counted.',
  migrations: [tables, callsUnderWayElsewhere, callsUnderWay],
};

/** Values of `calls.state`. */
export const callStates = { open: 0, done: 1, aborted: 2, failed: 3, unsettled: 4 } as const;
export type CallState = keyof typeof callStates;
