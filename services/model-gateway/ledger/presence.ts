import { randomUUID } from 'node:crypto';
import { guarded } from '#kit/callbacks.ts';
import type { LeaseHolder } from '#kit/contracts/lease-holder.ts';
import type { Database, Sql } from '#kit/database/database.ts';
import {
  createFencedLeases,
  type FencedLease,
  type FencedLeases,
  isExpired,
} from '#kit/database/fenced-leases.ts';
import { codeOf, Unavailable } from '#kit/errors.ts';
import { isRunning } from '#kit/storage/process-identity.ts';
import { balancesOf, gatewaysWithCalls, lockBalances, settleCutOff, writeBalances } from './ledger-rows.ts';

export interface PresenceOptions {
  /** For so long, in milliseconds, a gateway that cannot reach the database is taken to be there. */
  readonly leaseMs?: number;
  /** Milliseconds between two looks for gateways that are gone. */
  readonly lookMs?: number;
}

interface Other extends Partial<LeaseHolder> {
  readonly gateway: string;
  readonly silent: boolean;
}

/**
 * Tells the other gateways on the database that this one is there, and finds those that are gone: what they left under way is counted
 * at what was reserved. A file has one gateway, so every other one is gone.
 */
export class Presence {
  /** Of this gateway, as long as its process runs. */
  readonly id = randomUUID();
  /** Ids of calls that may be on record as under way, and have not ended here. */
  readonly underWay = new Set<string>();
  /** Calls of gateways that are gone, which this one has counted. */
  cutOff = 0;
  readonly #database: Database;
  /** null: this process alone has the database. */
  readonly #leases: FencedLeases | null;
  /** How often in a row a look found that nobody renews the lease of a gateway. */
  readonly #silent = new Map<string, number>();
  readonly #looksUntilGone: number;
  readonly #timer: NodeJS.Timeout;
  #lease: FencedLease | null = null;
  #taking: Promise<void> | null = null;
  #looking: Promise<void> | null = null;

  constructor(database: Database, { leaseMs = 30_000, lookMs = 10_000 }: PresenceOptions = {}) {
    this.#database = database;
    this.#leases =
      database.engine === 'sqlite' ? null : createFencedLeases(database, { durationMs: leaseMs });
    this.#looksUntilGone = Math.ceil(leaseMs / lookMs) + 1;
    this.#timer = setInterval(
      guarded('the ledger', () => this.#look()),
      lookMs,
    ).unref();
    if (this.#leases !== null) this.#look();
  }

  /** @throws what the database reports, for example Failed (`ledger_damaged`) */
  async settleGone(): Promise<void> {
    for (const gateway of await this.#gone()) await this.#settleGone(gateway);
  }

  /** To be called before the first call of a transaction. @throws Unavailable */
  async hold(): Promise<void> {
    if (this.#leases === null || (this.#lease !== null && !this.#lease.lost.aborted)) return;
    this.#taking ??= this.#take().finally(() => (this.#taking = null));
    await this.#taking;
  }

  /** @throws Conflict (`lease_lost`): `hold` takes it again */
  async fence(sql: Sql, gateway: string = this.id): Promise<void> {
    await this.#leases?.fence(sql, nameOf(gateway));
  }

  /** What is still under way then is counted at what was reserved. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    try {
      if (this.#hasCalls) await this.#settle(this.id);
    } catch (error) {
      // Others count what they took it for.
      if (codeOf(error) !== 'lease_lost') throw error;
    } finally {
      await this.#leases?.close();
    }
  }

  get #hasCalls(): boolean {
    return this.#leases === null || this.#lease !== null;
  }

  async #take(): Promise<void> {
    try {
      this.#lease = await this.#leases!.acquire(nameOf(this.id));
    } catch (error) {
      if (codeOf(error) !== 'lease_held') throw error;
      throw new Unavailable(
        'ledger_unavailable',
        'this gateway did not reach the database for so long that another one counts its calls as cut off',
        { cause: error, retryAfter: 1, hint: 'It goes on by itself when that is done.' },
      );
    }
  }

  #look(): void {
    this.#looking ??= this.#lookForGone()
      // Who could not reach the database knows of nobody that they are gone: they could not reach it either.
      .catch(() => this.#silent.clear())
      .finally(() => (this.#looking = null));
  }

  async #lookForGone(): Promise<void> {
    // One that ran out while the database was away: what this gateway has under way is still its own.
    if (this.#lease?.lost.aborted === true) await this.hold().catch(() => {});
    await this.#settleLost();
    await this.settleGone();
  }

  /** Other gateways that have calls under way, and ended. */
  async #gone(): Promise<string[]> {
    if (this.#leases === null)
      return (await gatewaysWithCalls(this.#database)).filter((gateway) => gateway !== this.id);
    const others = await this.#database.query<Other>(
      `SELECT gateway, coalesce(${isExpired}, true) AS silent, boot_id, pid_namespace, pid, process_started, host
       FROM (SELECT DISTINCT gateway FROM gateway_calls WHERE state = 'under_way') AS calls
       LEFT JOIN leases ON leases.name = 'gateway:' || gateway WHERE gateway <> $1`,
      [this.id],
    );
    const silent = new Set(others.flatMap((other) => (other.silent ? [other.gateway] : [])));
    for (const gateway of this.#silent.keys()) if (!silent.has(gateway)) this.#silent.delete(gateway);
    for (const gateway of silent) this.#silent.set(gateway, (this.#silent.get(gateway) ?? 0) + 1);
    return others.flatMap((other) => {
      const hasEnded = other.pid != null && isRunning(other as LeaseHolder) === false;
      const looks = this.#silent.get(other.gateway) ?? 0;
      return hasEnded || looks >= this.#looksUntilGone ? [other.gateway] : [];
    });
  }

  /** Calls that have ended here, and are under way on record: a database that lost its last transactions lost their ends. */
  async #settleLost(): Promise<void> {
    if (!this.#hasCalls) return;
    const rows = await this.#database.query<{ id: string }>(
      "SELECT id FROM gateway_calls WHERE gateway = $1 AND state = 'under_way'",
      [this.id],
    );
    if (rows.every(({ id }) => this.underWay.has(id))) return;
    this.cutOff += await this.#settle(this.id, this.underWay);
  }

  /** Under its lease, so that it records nothing meanwhile, should it come back. */
  async #settleGone(gateway: string): Promise<void> {
    let lease: FencedLease | undefined;
    try {
      lease = await this.#leases?.acquire(nameOf(gateway));
    } catch (error) {
      if (codeOf(error) === 'lease_held') return;
      throw error;
    }
    try {
      this.cutOff += await this.#settle(gateway);
      this.#silent.delete(gateway);
    } finally {
      lease?.release();
    }
  }

  /** @param kept what is under way, read once nobody can begin a call any more */
  #settle(gateway: string, kept: ReadonlySet<string> = new Set()): Promise<number> {
    return this.#database.transaction(async (sql) => {
      await this.fence(sql, gateway);
      const { balances } = await lockBalances(sql, await balancesOf(sql, gateway));
      const calls = await settleCutOff(sql, gateway, { balances, kept: [...kept] });
      if (calls > 0) await writeBalances(sql, balances);
      return calls;
    });
  }
}

function nameOf(gateway: string): string {
  return `gateway:${gateway}`;
}
