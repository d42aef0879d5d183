import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Usage } from '../providers/usage.ts';
import type { Account } from './account.ts';
import { type CallState, callStates } from './ledger-tables.ts';
import type { Money } from './money.ts';

export interface OpenCall {
  readonly id: number;
  readonly account: Account;
  readonly model: string;
  readonly upstream: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reserved: Money;
}

export interface EndedCall {
  readonly open: OpenCall;
  /** On which it began, in UTC. */
  readonly day: string;
  readonly upstream: string;
  readonly state: Exclude<CallState, 'open'>;
  readonly usage: Usage;
  readonly estimated: boolean;
  readonly cost: Money;
  readonly sentBytes: number;
  readonly ms: number;
  readonly firstTokenMs: number | null;
}

export const oldestOpen = 'oldest_open';
/** Accounts of runs come and go. */
const mostAccounts = 10_000;

/** The statements that write calls that ended. Names are kept once, and calls have their numbers. */
export class CallRows {
  readonly #db: DatabaseSync;
  readonly #statements: Statements;
  readonly #names = new Map<string, number>();
  readonly #accounts = new Map<string, number>();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = prepare(db);
  }

  /** In one commit; all of it or nothing. @param oldest no call before it is open */
  commit(ended: readonly EndedCall[], oldest: number): void {
    const { begin, commit, rollback } = this.#statements;
    begin.run();
    try {
      for (const call of ended) this.#end(call);
      this.#total(ended, oldest);
      commit.run();
    } catch (error) {
      // Numbers of names that were not written must not be used.
      this.#names.clear();
      this.#accounts.clear();
      // A full disk ends a transaction by itself.
      if (this.#db.isTransaction) rollback.run();
      throw error;
    }
  }

  /** Writes nothing that says anything. @throws what SQLite says of a ledger that cannot be written */
  probe(oldest: number): void {
    this.#statements.mark.run(oldestOpen, oldest);
  }

  #end({ open, upstream, state, usage, estimated, cost, sentBytes, ms, firstTokenMs }: EndedCall): void {
    this.#statements.end.run(
      open.id,
      this.#account(open.account),
      this.#name(open.model),
      this.#name(upstream),
      callStates[state],
      usage.input,
      usage.output,
      usage.cached,
      usage.cache_writes,
      Number(estimated),
      cost,
      sentBytes,
      ms,
      firstTokenMs,
    );
  }

  /** One row for all of a day that are alike, instead of one for each. */
  #total(ended: readonly EndedCall[], oldest: number): void {
    const sums = new Map<string, { readonly of: EndedCall; readonly values: number[] }>();
    for (const call of ended) {
      // None but the last can hold a line break.
      const key = `${call.open.account.key}\n${call.day}\n${call.open.model}\n${call.upstream}`;
      let sum = sums.get(key);
      if (sum === undefined) {
        sum = { of: call, values: new Array<number>(10).fill(0) };
        sums.set(key, sum);
      }
      const counted = countedIn(call);
      for (let index = 0; index < counted.length; index++) sum.values[index]! += counted[index]!;
    }
    for (const { of, values } of sums.values()) {
      const { account, model } = of.open;
      this.#statements.total.run(
        this.#account(account),
        of.day,
        this.#name(model),
        this.#name(of.upstream),
        ...values,
      );
    }
    this.#statements.mark.run(oldestOpen, oldest);
  }

  #account({ key, run }: Account): number {
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    this.#statements.addAccount.run(key, run);
    const { account } = this.#statements.findAccount.get(key) as { account: number };
    if (this.#accounts.size >= mostAccounts) this.#accounts.clear();
    this.#accounts.set(key, account);
    return account;
  }

  #name(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#statements.addName.run(name);
    const { id } = this.#statements.findName.get(name) as { id: number };
    this.#names.set(name, id);
    return id;
  }
}

/** In the order of the columns of `totals`. */
function countedIn({ state, usage, estimated, cost }: EndedCall): readonly number[] {
  return [
    1,
    Number(state === 'aborted'),
    Number(state === 'failed'),
    Number(estimated),
    Number(state === 'unsettled'),
    usage.input,
    usage.output,
    usage.cached,
    usage.cache_writes,
    cost,
  ];
}

type Statements = Readonly<
  Record<
    | 'begin'
    | 'commit'
    | 'rollback'
    | 'end'
    | 'total'
    | 'mark'
    | 'addAccount'
    | 'findAccount'
    | 'addName'
    | 'findName',
    StatementSync
  >
>;

const counted = [
  'calls',
  'aborted',
  'failed',
  'estimated',
  'unsettled',
  'input',
  'output',
  'cached',
  'cache_writes',
  'cost',
];

function prepare(db: DatabaseSync): Statements {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    // Earlier versions wrote a call here when it began.
    end: db.prepare('INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    total: db.prepare(`INSERT INTO totals VALUES (?, ?, ?, ?, ${counted.map(() => '?').join(', ')})
      ON CONFLICT DO UPDATE SET ${counted.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`),
    mark: db.prepare('INSERT OR REPLACE INTO marks VALUES (?, ?)'),
    addAccount: db.prepare('INSERT OR IGNORE INTO accounts (key, run) VALUES (?, ?)'),
    findAccount: db.prepare('SELECT account FROM accounts WHERE key = ?'),
    addName: db.prepare('INSERT OR IGNORE INTO names (name) VALUES (?)'),
    findName: db.prepare('SELECT id FROM names WHERE name = ?'),
  };
}
