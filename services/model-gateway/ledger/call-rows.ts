import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '#kit/storage/database.ts';
import { noUsage, type Usage } from '../providers/usage.ts';
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

/** Accounts of runs come and go. */
const maxAccounts = 10_000;

/** The statements that write calls. Names are kept once, and calls have their numbers. */
export class CallRows {
  readonly #db: DatabaseSync;
  readonly #statements: Statements;
  readonly #names = new Map<string, number>();
  readonly #accounts = new Map<string, number>();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = prepare(db);
  }

  open(call: OpenCall): void {
    this.#written(() => this.#put(openRow(call)));
  }

  /** Sets `reserved` of a call under way. */
  raise({ id, reserved }: OpenCall): void {
    this.#statements.raise.run(reserved, id);
  }

  /** In one commit; all of it or nothing. */
  end(ended: readonly EndedCall[]): void {
    this.#written(() => {
      for (const call of ended) this.#put(call);
      this.#total(ended);
    });
  }

  /** Writes nothing that matters. @throws what SQLite says of a ledger that cannot be written */
  probe(): void {
    this.#statements.mark.run('probed', 0);
  }

  /** Calls under way, of this process or of one before it. */
  underWay(): OpenCall[] {
    return (this.#statements.underWay.all() as unknown as OpenRow[]).map(
      ({ call, key, run, model, upstream, input, output, cost }) => ({
        id: call,
        account: { key, run, models: null, budget: null },
        model,
        upstream,
        inputTokens: input,
        outputTokens: output,
        reserved: cost,
      }),
    );
  }

  /** The highest id that is taken; 0 where there is none. */
  last(): number {
    const { last } = this.#statements.last.get() as { last: number | null };
    return last ?? 0;
  }

  has(id: number): boolean {
    return this.#statements.has.get(id) !== undefined;
  }

  /** Forgets some calls before this one; what they came to stays. */
  forget(before: number): void {
    this.#statements.forget.run(before);
  }

  #written(write: () => void): void {
    try {
      transaction(this.#db, write);
    } catch (error) {
      // Numbers of names that were not written must not be used.
      this.#names.clear();
      this.#accounts.clear();
      throw error;
    }
  }

  #put(call: Omit<EndedCall, 'state'> & { readonly state: CallState }): void {
    const { open, upstream, state, usage, estimated, cost, sentBytes, ms, firstTokenMs } = call;
    this.#statements.put.run(
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
  #total(ended: readonly EndedCall[]): void {
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
  }

  #account({ key, run }: Account): number {
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    this.#statements.addAccount.run(key, run);
    const { account } = this.#statements.findAccount.get(key) as { account: number };
    if (this.#accounts.size >= maxAccounts) this.#accounts.clear();
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

/** A call under way counts as it would if this process were killed: all that was set aside. */
function openRow(open: OpenCall): Omit<EndedCall, 'state'> & { readonly state: 'open' } {
  return { ...unsettled(open, ''), state: 'open' };
}

/** The end of a call of which nobody can say any more what it used. */
export function unsettled(open: OpenCall, day: string): EndedCall {
  return {
    open,
    day,
    upstream: open.upstream,
    state: 'unsettled',
    usage: { ...noUsage, input: open.inputTokens, output: open.outputTokens },
    estimated: true,
    cost: open.reserved,
    sentBytes: 0,
    ms: 0,
    firstTokenMs: null,
  };
}

interface OpenRow {
  readonly call: number;
  readonly key: string;
  readonly run: string | null;
  readonly model: string;
  readonly upstream: string;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
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

type Statements = ReturnType<typeof prepare>;

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

/** So many calls are forgotten at once. */
const forgotten = 5_000;

function prepare(db: DatabaseSync) {
  return {
    put: db.prepare('INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    raise: db.prepare('UPDATE calls SET cost = ? WHERE call = ?'),
    has: db.prepare('SELECT 1 FROM calls WHERE call = ?'),
    last: db.prepare('SELECT max(call) AS last FROM calls'),
    underWay:
      db.prepare(`SELECT call, key, run, models.name AS model, upstreams.name AS upstream, input, output, cost
      FROM calls JOIN accounts USING (account) JOIN names AS models ON models.id = model
      JOIN names AS upstreams ON upstreams.id = upstream WHERE state = 0`),
    forget: db.prepare(`DELETE FROM calls WHERE call IN
      (SELECT call FROM calls WHERE call < ? AND state <> 0 LIMIT ${forgotten})`),
    total: db.prepare(`INSERT INTO totals VALUES (?, ?, ?, ?, ${counted.map(() => '?').join(', ')})
      ON CONFLICT DO UPDATE SET ${counted.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`),
    mark: db.prepare('INSERT OR REPLACE INTO marks VALUES (?, ?)'),
    addAccount: db.prepare('INSERT OR IGNORE INTO accounts (key, run) VALUES (?, ?)'),
    findAccount: db.prepare('SELECT account FROM accounts WHERE key = ?'),
    addName: db.prepare('INSERT OR IGNORE INTO names (name) VALUES (?)'),
    findName: db.prepare('SELECT id FROM names WHERE name = ?'),
  };
}
