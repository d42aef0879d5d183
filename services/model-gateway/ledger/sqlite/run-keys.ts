import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { KeyRequest, MintedKey, RunKey } from '#kit/contracts/model-gateway/keys.ts';
import { sha256 } from '#kit/digest.ts';
import { newTokenText } from '#kit/tokens/token.ts';
import { type Account, purseOf } from '../accounts.ts';
import { dollarsOf, type Money, moneyOf } from '../money.ts';
import { keyEnded, noSuchKey, type RunKeys, runKeyPrefix } from '../store.ts';
import type { Balances } from './balances.ts';
import { notRecorded, whenFree } from './call-writer.ts';

interface KeyRow {
  readonly id: string;
  readonly sha256: string;
  readonly run: string;
  /** JSON. */
  readonly models: string | null;
  readonly budget: number | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
}

interface LiveKey {
  readonly row: KeyRow;
  readonly account: Account;
  readonly expires: number;
}

/** All that are in force are known in memory. */
export class SqliteRunKeys implements RunKeys {
  readonly #db: DatabaseSync;
  readonly #balances: Balances;
  readonly #now: () => number;
  readonly #usedBy: (run: string) => Money;
  readonly #byHash = new Map<string, LiveKey>();
  readonly #byAccount = new Map<string, LiveKey>();

  /** @param usedBy what the calls of a run cost that ended */
  constructor(parts: {
    readonly db: DatabaseSync;
    readonly balances: Balances;
    readonly now: () => number;
    readonly usedBy: (run: string) => Money;
  }) {
    const { db, balances, now, usedBy } = parts;
    this.#db = db;
    this.#balances = balances;
    this.#now = now;
    this.#usedBy = usedBy;
    const rows = db
      .prepare('SELECT * FROM keys WHERE revoked_at IS NULL AND expires_at > ?')
      .all(new Date(now()).toISOString()) as unknown as KeyRow[];
    for (const row of rows) this.#begin(row);
  }

  mint(request: KeyRequest): Promise<MintedKey> {
    return whenFree(() => this.#mint(request));
  }

  #mint(request: KeyRequest): MintedKey {
    const text = newTokenText('run-key');
    const row: KeyRow = {
      id: `key_${randomBytes(8).toString('hex')}`,
      sha256: sha256(text),
      run: request.run,
      models: request.models == null ? null : JSON.stringify(request.models),
      budget: request.budget == null ? null : moneyOf(request.budget),
      created_at: new Date(this.#now()).toISOString(),
      expires_at: new Date(request.expires_at).toISOString(),
      revoked_at: null,
    };
    try {
      this.#db
        .prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)')
        .run(row.id, row.sha256, row.run, row.models, row.budget, row.created_at, row.expires_at);
      this.#begin(row);
    } catch (error) {
      throw notRecorded(error);
    }
    return { key: text, ...this.#shown(row) };
  }

  find(text: string): Account | null {
    if (!text.startsWith(runKeyPrefix)) return null;
    const live = this.#byHash.get(sha256(text));
    if (live === undefined) return null;
    if (live.expires > this.#now()) return live.account;
    this.#end(live);
    return null;
  }

  lookUp(): null {
    return null;
  }

  /** A call may have waited since its key was found. @throws Unauthorized (`token_invalid`) where the key has ended */
  check({ key, run }: Account): void {
    if (run === null) return;
    const live = this.#byAccount.get(key);
    if (live !== undefined && live.expires > this.#now()) return;
    throw keyEnded();
  }

  async list(): Promise<readonly RunKey[]> {
    this.forgetExpired();
    return [...this.#byHash.values()].map(({ row }) => this.#shown(row)).reverse();
  }

  async get(id: string): Promise<RunKey> {
    return this.#shown(this.#rowOf(id));
  }

  revoke(id: string): Promise<RunKey> {
    return whenFree(() => this.#revoke(id));
  }

  #revoke(id: string): RunKey {
    const row = this.#rowOf(id);
    if (row.revoked_at !== null) return this.#shown(row);
    const revoked = { ...row, revoked_at: new Date(this.#now()).toISOString() };
    try {
      this.#db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ?').run(revoked.revoked_at, id);
    } catch (error) {
      throw notRecorded(error);
    }
    const live = this.#byHash.get(row.sha256);
    const shown = this.#shown(revoked);
    if (live !== undefined) this.#end(live);
    return shown;
  }

  forgetExpired(): void {
    const now = this.#now();
    for (const live of [...this.#byHash.values()]) if (live.expires <= now) this.#end(live);
  }

  #begin(row: KeyRow): void {
    const { id, run, models, budget } = row;
    const account: Account = {
      key: `key:${id}`,
      run,
      models: models === null ? null : JSON.parse(models),
      budget,
    };
    const live: LiveKey = { row, account, expires: Date.parse(row.expires_at) };
    this.#byHash.set(row.sha256, live);
    this.#byAccount.set(account.key, live);
    const purse = purseOf(account);
    if (this.#balances.of(purse) === null) this.#balances.begin(purse, this.#usedBy(run));
    this.#limit(account);
  }

  #end({ row, account }: LiveKey): void {
    this.#byHash.delete(row.sha256);
    this.#byAccount.delete(account.key);
    const purse = purseOf(account);
    const shared = this.#keysOf(row.run).length > 0;
    if (shared) this.#limit(account);
    // Of calls under way, a later key of the run has to know.
    else if (this.#balances.of(purse)?.reserved === 0) this.#balances.end(purse);
  }

  #keysOf(run: string): LiveKey[] {
    return [...this.#byHash.values()].filter(({ row }) => row.run === run);
  }

  #limit(account: Account): void {
    const budgets = this.#keysOf(account.run!).flatMap(({ row }) => row.budget ?? []);
    this.#balances.limit(purseOf(account), budgets.length === 0 ? null : Math.max(...budgets));
  }

  #rowOf(id: string): KeyRow {
    const row = this.#db.prepare('SELECT * FROM keys WHERE id = ?').get(id);
    if (row !== undefined) return row as unknown as KeyRow;
    throw noSuchKey(id);
  }

  #shown(row: KeyRow): RunKey {
    const { id, run, budget, created_at, expires_at, revoked_at } = row;
    const { used, reserved } = this.#balances.of(purseOf({ key: id, run })) ?? {
      used: this.#usedBy(run),
      reserved: 0,
    };
    return {
      id,
      run,
      models: row.models === null ? null : JSON.parse(row.models),
      budget: budget === null ? null : dollarsOf(budget),
      created_at,
      expires_at,
      revoked_at,
      used: dollarsOf(used),
      reserved: dollarsOf(reserved),
    };
  }
}
