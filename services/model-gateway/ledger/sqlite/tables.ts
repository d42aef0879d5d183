import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { UsageGroup, UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import type { DatabaseKind } from '#kit/storage/database.ts';
import type { Money } from '../money.ts';
import type { CallEnd, NewCall, UsageQuestion } from '../store.ts';

/**
 * `calls.call` begins with the millisecond when the call began (see `CallIds`), so the table is in the order of time.
 * `totals` sums the calls that ended, written in the same commit; it stays when old calls are deleted.
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

/** A version in between kept calls under way in files. */
const noChange = '/* no table changes */';

const callsUnderWay = 'CREATE INDEX IF NOT EXISTS calls_under_way ON calls (call) WHERE state = 0';

/** Calls whose upstream reported numbers that contradict each other. */
const contradictory = `
  ALTER TABLE calls ADD COLUMN contradictory INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE totals ADD COLUMN contradictory INTEGER NOT NULL DEFAULT 0;
`;

export const ledgerKind: DatabaseKind = {
  codePrefix: 'ledger',
  name: 'the ledger',
  whenDamaged: 'Move it away to begin a new ledger; what was used so far is then not counted.',
  migrations: [tables, noChange, callsUnderWay, contradictory],
};

/** Values of `calls.state`; 0 is a call under way. */
const callStates = { done: 1, aborted: 2, failed: 3, unsettled: 4 } as const;

export interface OpenCall extends NewCall {
  readonly id: number;
}

export interface EndedCall extends CallEnd {
  readonly id: number;
  readonly run: string | null;
  /** On which it began, in UTC. */
  readonly day: string;
}

const groups: Readonly<Record<UsageGroup, string>> = {
  run: 'coalesce(accounts.run, accounts.key)',
  model: 'models.name',
  day: 'totals.day',
};

export class LedgerTables {
  readonly #db: DatabaseSync;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = prepare(db);
  }

  /** A call under way counts as it would if this process were killed: everything that was reserved. */
  open({ id, account, model, upstream, inputTokens, outputTokens, reserved }: OpenCall): void {
    this.#statements.addAccount.run(account.key, account.run);
    this.#statements.addNames.run(model, upstream);
    this.#statements.open.run(id, inputTokens, outputTokens, reserved, account.key, model, upstream);
  }

  /** Sets `reserved` of a call under way. */
  raise({ id, reserved }: Pick<OpenCall, 'id' | 'reserved'>): void {
    this.#statements.raise.run(reserved, id);
  }

  /** To be run in a transaction. A call that has ended already stays as it is. */
  end({ id, day, upstream, state, usage, estimated, cost, sentBytes, ms, firstTokenMs }: EndedCall): void {
    const { input, output, cached, cache_writes } = usage;
    this.#statements.addNames.run(upstream, upstream);
    const { changes } = this.#statements.end.run(
      ...[upstream, callStates[state], input, output, cached, cache_writes],
      ...[Number(estimated), cost, sentBytes, ms, firstTokenMs],
      ...[Number(usage.contradictory === true), id],
    );
    if (changes === 1) this.#statements.total.run(day, id);
  }

  /**
   * Ends the calls that a killed process left under way, at what was reserved: nobody can say any more what they used. To be run
   * in a transaction.
   * @returns how many there were
   */
  settleCutOff(now: number): number {
    const calls = this.#statements.cutOff.all() as unknown as { readonly call: number }[];
    // Ids are ahead of the time where a clock was.
    for (const { call } of calls) this.#statements.total.run(dayOf(Math.min(timeOfCall(call), now)), call);
    return calls.length;
  }

  /** Writes nothing that matters. @throws what SQLite says of a ledger that cannot be written */
  probe(): void {
    this.#statements.mark.run('probed', 0);
  }

  /** The highest id that is taken; 0 where there is none. */
  last(): number {
    return (this.#statements.last.get() as { last: number | null }).last ?? 0;
  }

  /** Deletes some calls that began before `time` and have ended. */
  forget(time: number): void {
    this.#statements.forget.run(time * perMillisecond);
  }

  usedOn(day: string): Money {
    return this.#used('WHERE day = ?', day);
  }

  usedBy(run: string): Money {
    return this.#used('JOIN accounts USING (account) WHERE run = ?', run);
  }

  /** Most expensive first; days newest first. */
  usage({ by, from, to, run }: UsageQuestion): UsageLine[] {
    const conditions = [
      ['totals.day >= ?', from],
      ['totals.day <= ?', to],
      ['accounts.run = ?', run],
    ].filter((condition): condition is [string, string] => condition[1] !== null);
    const where = conditions.map(([text]) => text).join(' AND ') || 'true';
    return this.#db
      .prepare(
        `SELECT ${groups[by]} AS name, sum(calls) AS calls, sum(aborted) AS aborted, sum(failed) AS failed,
          sum(estimated) AS estimated, sum(unsettled) AS unsettled, sum(input) AS input_tokens,
          sum(output) AS output_tokens, sum(cached) AS cached_tokens, sum(cache_writes) AS cache_write_tokens,
          sum(contradictory) AS contradictory, sum(cost) / 1000000.0 AS cost
        FROM totals JOIN accounts USING (account) JOIN names AS models ON models.id = totals.model
        WHERE ${where}
        GROUP BY 1 ORDER BY ${by === 'day' ? 'name DESC' : 'cost DESC, calls DESC, name'}`,
      )
      .all(...conditions.map(([, value]) => value)) as unknown as UsageLine[];
  }

  #used(where: string, value: SQLInputValue): Money {
    const row = this.#db.prepare(`SELECT sum(cost) AS used FROM totals ${where}`).get(value);
    return (row as { used: number | null }).used ?? 0;
  }
}

const summed = [
  ...['calls', 'aborted', 'failed', 'estimated', 'unsettled'],
  ...['input', 'output', 'cached', 'cache_writes', 'cost', 'contradictory'],
];

/** Calls that are deleted at once. */
const maxForgotten = 5_000;

function prepare(db: DatabaseSync) {
  return {
    addAccount: db.prepare('INSERT OR IGNORE INTO accounts (key, run) VALUES (?, ?)'),
    addNames: db.prepare('INSERT OR IGNORE INTO names (name) VALUES (?), (?)'),
    open: db.prepare(`
      INSERT INTO calls
      SELECT ?, account, models.id, upstreams.id, 0, ?, ?, 0, 0, 1, ?, 0, 0, NULL, 0
      FROM accounts, names AS models, names AS upstreams
      WHERE accounts.key = ? AND models.name = ? AND upstreams.name = ?`),
    raise: db.prepare('UPDATE calls SET cost = ? WHERE call = ?'),
    end: db.prepare(`
      UPDATE calls SET upstream = (SELECT id FROM names WHERE name = ?), state = ?, input = ?, output = ?, cached = ?,
        cache_writes = ?, estimated = ?, cost = ?, sent_bytes = ?, ms = ?, first_token_ms = ?,
        contradictory = ?
      WHERE call = ? AND state = 0`),
    cutOff: db.prepare(`UPDATE calls SET state = ${callStates.unsettled} WHERE state = 0 RETURNING call`),
    total: db.prepare(`
      INSERT INTO totals
      SELECT account, ?, model, upstream, 1, state = ${callStates.aborted}, state = ${callStates.failed}, estimated,
        state = ${callStates.unsettled}, input, output, cached, cache_writes, cost, contradictory
      FROM calls WHERE call = ?
      ON CONFLICT DO UPDATE SET ${summed.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`),
    last: db.prepare('SELECT max(call) AS last FROM calls'),
    forget: db.prepare(`
      DELETE FROM calls WHERE call IN
        (SELECT call FROM calls WHERE call < ? AND state <> 0 LIMIT ${maxForgotten})`),
    mark: db.prepare('INSERT OR REPLACE INTO marks VALUES (?, ?)'),
  };
}

const perMillisecond = 1024;

/** Ids that begin with the millisecond and rise, also when the clock goes back. A whole number below 2 ** 53. */
export class CallIds {
  #last: number;
  readonly #now: () => number;

  /** @param last the highest id that is taken */
  constructor(last: number, now: () => number) {
    this.#last = last;
    this.#now = now;
  }

  next(): number {
    this.#last = Math.max(this.#last + 1, this.#now() * perMillisecond);
    return this.#last;
  }
}

function timeOfCall(id: number): number {
  return Math.floor(id / perMillisecond);
}

/** In UTC, as YYYY-MM-DD. */
export function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}
