import { randomBytes } from 'node:crypto';
import type { KeyRequest, MintedKey, RunKey } from '#kit/contracts/model-gateway/keys.ts';
import { outcomeOf } from '#kit/database/commit-unknown.ts';
import { type Database, places, type Sql } from '#kit/database/database.ts';
import { sha256 } from '#kit/digest.ts';
import { NotFound, Unauthorized } from '#kit/errors.ts';
import { type Moment, momentIn, msUntil } from '#kit/moment.ts';
import { newTokenText } from '#kit/tokens/token.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import type { Account, RunIdentity } from './accounts.ts';
import { runBalance } from './ledger-rows.ts';
import { dollarsOf, type Money, moneyOf } from './money.ts';
import { notRecorded } from './not-recorded.ts';

/** A key in force, where what it may do is decided. */
export interface LiveKey {
  readonly id: string;
  readonly run: string;
  readonly budget: Money | null;
}

interface KeyRow extends LiveKey {
  /** JSON. */
  readonly models: string | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly revoked_at: number | null;
  /** Of the whole run. */
  readonly used: Money;
  readonly reserved: Money;
}

/** Keys begin like every token of Core, so that what hides tokens hides them. */
const runKeyPrefix = 'core_run-key_';
const inForce = 'revoked_at IS NULL AND expires_at > (SELECT core_clock_ms())';
const columns = `id, run, models, budget, created_at, expires_at, revoked_at,
  coalesce(used, 0) AS used, coalesce(reserved, 0) AS reserved`;
const keys = "gateway_keys LEFT JOIN gateway_balances ON gateway_balances.name = 'run:' || run";

/** Milliseconds for which a key that was found is taken to be in force; whether it is, is looked at again with each reservation. */
export const knownMs = 1_000;

/** Those in force, of these runs. */
export async function keysOf(sql: Sql, runs: readonly string[]): Promise<LiveKey[]> {
  if (runs.length === 0) return [];
  return sql.query<LiveKey>(
    `SELECT id, run, budget FROM gateway_keys WHERE run IN (${places(runs)}) AND ${inForce}`,
    runs,
  );
}

/** Tokens of the installation, and keys of runs. A key may ask models, and see them. */
export function withRunKeys(tokens: Tokens, keys: RunKeys): Tokens {
  return {
    lookUp: (text) => keys.lookUp(text) ?? tokens.lookUp?.(text) ?? null,
    authenticate(text) {
      const account = keys.find(text);
      if (account === null) return tokens.authenticate(text);
      const identity: RunIdentity = { name: account.key, scopes: ['read', 'model'], account };
      return identity;
    },
    list: () => tokens.list(),
    now: () => tokens.now(),
  };
}

/**
 * Keys of runs: shown once, kept as a hash, valid until they expire or are revoked. A key made at one gateway is valid at all of them,
 * and ended at all of them.
 */
export class RunKeys {
  readonly #database: Database;
  readonly #known = new Map<string, { readonly account: Account; readonly until: Moment }>();
  readonly #asked = new Map<string, Promise<void>>();
  /** Accounts whose keys ended here, and when; others are found to have ended when they are looked at again. */
  readonly #endedHere = new Map<string, number>();
  readonly #settled: () => Promise<void>;

  /** @param settled resolves when what calls of this gateway cost that ended is on record */
  constructor(database: Database, settled: () => Promise<void>) {
    this.#database = database;
    this.#settled = settled;
  }

  /** @param request checked. @throws Unavailable */
  async mint({ run, models = null, budget = null, expires_at }: KeyRequest): Promise<MintedKey> {
    const text = newTokenText('run-key');
    const id = `key_${randomBytes(8).toString('hex')}`;
    const write = () =>
      this.#database.transaction(async (sql) => {
        await sql.query('INSERT INTO gateway_balances (name) VALUES ($1) ON CONFLICT DO NOTHING', [
          runBalance(run),
        ]);
        await sql.query(
          `INSERT INTO gateway_keys (id, sha256, run, models, budget, created_at, expires_at)
          VALUES ($1, $2, $3, $4, $5, core_clock_ms(), $6) ON CONFLICT (id) DO NOTHING`,
          [
            ...[id, sha256(text), run, models === null ? null : JSON.stringify(models)],
            ...[budget === null ? null : moneyOf(budget), Date.parse(expires_at)],
          ],
        );
        return find(sql, id);
      });
    // One whose answer is lost would count towards the budget of the run, and nobody would have it to end it.
    const row = await this.#recorded(() => outcomeOf(write));
    return { key: text, ...shown(row!) };
  }

  /** The account of a key that was looked up; null if there is none, or the key ended. */
  find(text: string): Account | null {
    if (!text.startsWith(runKeyPrefix)) return null;
    return this.#known.get(sha256(text))?.account ?? null;
  }

  /** Asks for what `find` does not know yet; null where it knows. Rejects with Unavailable. */
  lookUp(text: string): Promise<void> | null {
    if (!text.startsWith(runKeyPrefix)) return null;
    const hash = sha256(text);
    const known = this.#known.get(hash);
    if (known !== undefined && msUntil(known.until) > 0) return null;
    let asked = this.#asked.get(hash);
    if (asked === undefined) {
      asked = this.#ask(hash).finally(() => this.#asked.delete(hash));
      this.#asked.set(hash, asked);
    }
    return asked;
  }

  /**
   * @param known until when the key is taken to be in force
   * @returns until when it is from now on
   * @throws Unauthorized (`token_invalid`) where the key of an account has ended, Unavailable
   */
  async check({ key }: Account, known: Moment): Promise<Moment> {
    if (this.#endedHere.has(key)) throw keyEnded();
    if (msUntil(known) > 0) return known;
    const until = momentIn(knownMs);
    const [row] = await this.#recorded(() =>
      this.#database.query(`SELECT 1 FROM gateway_keys WHERE id = $1 AND ${inForce}`, [
        key.slice('key:'.length),
      ]),
    );
    if (row === undefined) throw keyEnded();
    return until;
  }

  /** Those in force, newest first. */
  async list(): Promise<readonly RunKey[]> {
    const rows = await this.#recorded(async () => {
      await this.#settled();
      return this.#database.query<KeyRow>(
        `SELECT ${columns} FROM ${keys} WHERE ${inForce} ORDER BY created_at DESC, id DESC`,
      );
    });
    return rows.map(shown);
  }

  /** Also of one that has ended. @throws NotFound (`key_not_found`), Unavailable */
  async get(id: string): Promise<RunKey> {
    const row = await this.#recorded(async () => {
      await this.#settled();
      return find(this.#database, id);
    });
    if (row === null) throw noSuchKey(id);
    return shown(row);
  }

  /** Again, it changes nothing. @throws NotFound (`key_not_found`), Unavailable */
  async revoke(id: string): Promise<RunKey> {
    const row = await this.#recorded(async () => {
      await this.#database.write(
        'UPDATE gateway_keys SET revoked_at = core_clock_ms() WHERE id = $1 AND revoked_at IS NULL',
        [id],
      );
      this.#endedHere.set(`key:${id}`, performance.now());
      await this.#settled();
      return find(this.#database, id);
    });
    if (row === null) throw noSuchKey(id);
    for (const [hash, { account }] of this.#known) if (account.key === `key:${id}`) this.#known.delete(hash);
    return shown(row);
  }

  /** Forgets what is asked for again when it is needed. */
  forgetKnown(): void {
    const now = performance.now();
    for (const [key, at] of this.#endedHere) if (at + knownMs < now) this.#endedHere.delete(key);
    for (const [hash, { until }] of this.#known) if (msUntil(until) <= 0) this.#known.delete(hash);
  }

  async #ask(hash: string): Promise<void> {
    const until = momentIn(knownMs);
    const [row] = await this.#database.query<KeyRow>(
      `SELECT ${columns} FROM ${keys} WHERE sha256 = $1 AND ${inForce}`,
      [hash],
    );
    if (row === undefined) this.#known.delete(hash);
    else {
      const { id, run, models, budget } = row;
      this.#known.set(hash, { account: { key: `key:${id}`, run, models: modelsIn(models), budget }, until });
    }
  }

  async #recorded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw notRecorded(error, 'keys of runs cannot be read or written');
    }
  }
}

async function find(sql: Sql, id: string): Promise<KeyRow | null> {
  const [row] = await sql.query<KeyRow>(`SELECT ${columns} FROM ${keys} WHERE id = $1`, [id]);
  return row ?? null;
}

function shown({ id, run, models, budget, used, reserved, ...times }: KeyRow): RunKey {
  return {
    id,
    run,
    models: modelsIn(models),
    budget: budget === null ? null : dollarsOf(budget),
    created_at: new Date(times.created_at).toISOString(),
    expires_at: new Date(times.expires_at).toISOString(),
    revoked_at: times.revoked_at === null ? null : new Date(times.revoked_at).toISOString(),
    used: dollarsOf(used),
    reserved: dollarsOf(reserved),
  };
}

function modelsIn(text: string | null): string[] | null {
  return text === null ? null : JSON.parse(text);
}

export function keyEnded(): Unauthorized {
  return new Unauthorized('token_invalid', 'the key was revoked or has expired');
}

function noSuchKey(id: string): NotFound {
  return new NotFound(
    'key_not_found',
    `there is no key ${JSON.stringify(id)}; GET /v1/keys lists those in force`,
  );
}
