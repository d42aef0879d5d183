import { closeSync, fdatasync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import { openDatabase, transaction } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import type { Account } from './accounts.ts';
import { Balances, type Hold } from './balances.ts';
import { CallWriter, notRecorded } from './call-writer.ts';
import { maxCostOf, moneyOf, type PriceList, priceAt } from './money.ts';
import { RunKeys } from './run-keys.ts';
import {
  type CallResult,
  costOfLost,
  type LedgerCall,
  type LostAttempt,
  possibleTokens,
  type Settlement,
  settlementOf,
} from './settlement.ts';
import {
  CallIds,
  type EndedCall,
  LedgerTables,
  ledgerKind,
  type OpenCall,
  type UsageQuestion,
} from './tables.ts';

/** Money set aside for one call. It is on record before this is given out. */
export interface Reservation {
  /** Whether a budget holds what the call may cost, so that it must not cost more. */
  readonly bounded: boolean;
  /**
   * Before each attempt. Those before it that may be paid are set aside too, beside what this one may cost.
   * @throws Unauthorized (`token_invalid`) where the key of the call has ended meanwhile, BudgetExceeded, Unavailable
   */
  check(lost?: readonly LostAttempt[]): void;
  /** Puts what was used in its place. Again, it changes nothing and gives the same. */
  settle(result: CallResult): Settlement;
}

export interface LedgerOptions {
  readonly prices: PriceList;
  /** US dollars that all calls of a day may cost; null is no limit. */
  readonly dayBudget: number | null;
  readonly now?: () => number;
}

export function ledgerFolder(state: string): string {
  return join(state, 'model-gateway');
}

/**
 * Opens `<state>/model-gateway/ledger.sqlite` for this process alone, and makes it where it is missing. Calls that the last end
 * of the gateway cut off are counted at what was reserved for them.
 * @throws Conflict (`ledger_held`), Failed (`ledger_damaged`, `ledger_newer`), Unavailable (`disk_full`)
 */
export function openLedger(state: string, options: LedgerOptions): Ledger {
  const folder = ledgerFolder(state);
  const hold = holdFolder(folder, { code: 'ledger_held', name: 'the ledger' });
  const path = join(folder, 'ledger.sqlite');
  let db: DatabaseSync | null = null;
  try {
    db = openDatabase(path, ledgerKind, 'normal');
    return new Ledger(db, path, options, () => hold.release());
  } catch (error) {
    db?.close();
    hold.release();
    throw error;
  }
}

/** Milliseconds for which single calls are kept; what they came to is kept for good. */
const keptMs = 90 * 86_400_000;
const tidyMs = 10_000;
/** What a power cut can cost. */
const syncMs = 1_000;

type Priced = (upstream: string) => ReturnType<typeof priceAt>;

/** What calls use and cost, in SQLite, held by this process alone. */
export class Ledger {
  readonly keys: RunKeys;
  readonly #db: DatabaseSync;
  readonly #path: string;
  #prices: PriceList;
  readonly #now: () => number;
  readonly #release: () => void;
  readonly #tables: LedgerTables;
  readonly #calls: CallWriter;
  readonly #balances: Balances;
  readonly #ids: CallIds;
  /** How many calls the last end of the gateway cut off. */
  readonly #cutOff: number;
  readonly #timers: readonly NodeJS.Timeout[];
  #underWay = 0;
  #synced = 0;
  #syncing: Promise<void> | null = null;

  /** @param release gives the folder to the next process */
  constructor(
    db: DatabaseSync,
    path: string,
    { prices, dayBudget, now = Date.now }: LedgerOptions,
    release: () => void,
  ) {
    this.#db = db;
    this.#path = path;
    this.#prices = prices;
    this.#now = now;
    this.#release = release;
    const tables = new LedgerTables(db);
    this.#tables = tables;
    this.#cutOff = transaction(db, () => tables.settleCutOff(now()));
    // A lock of another process is waited for beside the event loop.
    db.exec('PRAGMA busy_timeout = 0');
    const calls = new CallWriter(db, tables);
    this.#calls = calls;
    const waiting = (isOf: (call: EndedCall) => boolean) =>
      calls.unwritten.filter(isOf).reduce((sum, { cost }) => sum + cost, 0);
    this.#balances = new Balances({
      dayBudget: dayBudget === null ? null : moneyOf(dayBudget),
      usedOn: (day) => tables.usedOn(day) + waiting((call) => call.day === day),
      now,
    });
    this.keys = new RunKeys({
      db,
      balances: this.#balances,
      now,
      usedBy: (run) => tables.usedBy(run) + waiting((call) => call.run === run),
    });
    this.#ids = new CallIds(tables.last(), now);
    this.#timers = [
      setInterval(() => this.#sync(), syncMs).unref(),
      setInterval(() => this.#tidy(), tidyMs).unref(),
    ];
  }

  /**
   * Sets aside what a call may cost, at the dearest upstream of its model.
   * @throws Unauthorized (`token_invalid`) where the key has ended, BudgetExceeded, Unavailable (`ledger_unavailable`) when it cannot be recorded
   */
  async reserve(account: Account, asked: LedgerCall): Promise<Reservation> {
    this.keys.check(account);
    const call: LedgerCall = {
      ...asked,
      inputTokens: possibleTokens(asked.inputTokens),
      outputTokens: possibleTokens(asked.outputTokens),
    };
    const prices = this.#prices;
    const reserved = maxCostOf(prices, call);
    const hold = this.#balances.hold(account, reserved);
    const priced = (upstream: string) => priceAt(prices, call, upstream);
    const open: OpenCall = { ...call, id: this.#ids.next(), account, reserved };
    try {
      await this.#calls.open(open);
    } catch (error) {
      hold.use(0);
      throw notRecorded(error);
    }
    this.#underWay++;
    let settled: Settlement | null = null;
    return {
      bounded: reserved > 0 && this.#balances.bind(account),
      check: (lost) => this.#check(open, hold, priced, lost),
      settle: (result) => {
        if (settled !== null) return settled;
        settled = this.#settle(open, hold.day, priced, result);
        hold.use(settled.cost);
        return settled;
      },
    };
  }

  /** Prices and budget from the next call on; a call under way keeps the prices that it began with. */
  change({ prices, dayBudget }: Pick<LedgerOptions, 'prices' | 'dayBudget'>): void {
    this.#prices = prices;
    this.#balances.limitDay(dayBudget === null ? null : moneyOf(dayBudget));
  }

  /** Of calls that ended; those under way are not in it. */
  async usage(question: UsageQuestion): Promise<readonly UsageLine[]> {
    try {
      await this.#calls.flush();
    } catch (error) {
      throw notRecorded(error, 'usage cannot be reported before calls that ended are on record');
    }
    return this.#tables.usage(question);
  }

  health(): { status: 'ok' | 'degraded' | 'failing'; detail: string } {
    const { problem } = this.#calls;
    if (problem !== null) return { status: 'failing', detail: notRecorded(problem).message };
    const before =
      this.#cutOff === 0
        ? ''
        : `; ${this.#cutOff} cut off by the last end of the gateway count at what was reserved`;
    return { status: 'ok', detail: `${this.#underWay} calls under way${before}` };
  }

  /** Records what is left to record, and releases the folder. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    try {
      await this.#calls.flush();
    } finally {
      this.#calls.close();
      await this.#syncing;
      // The last one to close writes the log into the ledger, and syncs it.
      this.#db.close();
      this.#release();
    }
  }

  #check(call: OpenCall, hold: Hold, priced: Priced, lost: readonly LostAttempt[] = []): void {
    this.keys.check(call.account);
    if (lost.length === 0) return;
    const reserved = call.reserved + costOfLost(call, lost, priced);
    if (reserved === call.reserved) return;
    hold.raise(reserved);
    try {
      this.#calls.raise({ ...call, reserved });
    } catch (error) {
      throw notRecorded(error);
    }
  }

  #settle(call: OpenCall, day: string, priced: Priced, result: CallResult): Settlement {
    const settlement = settlementOf(call, result, priced);
    this.#underWay--;
    this.#calls.end({
      id: call.id,
      run: call.account.run,
      day,
      upstream: result.upstream,
      state: result.outcome,
      ...settlement,
      sentBytes: Math.round(result.sentBytes),
      ms: Math.round(result.ms),
      firstTokenMs: result.firstTokenMs === null ? null : Math.round(result.firstTokenMs),
    });
    return settlement;
  }

  /**
   * A commit survives the end of the process, however it ends. Off the event loop the log of changes is brought to the disk, so
   * that a power cut costs moments. The log is the one file of a database that SQLite holds no lock on: to close another of its
   * files here would let go of the locks of the whole process.
   */
  #sync(): void {
    const { writes } = this.#calls;
    if (this.#syncing !== null || writes === this.#synced) return;
    this.#syncing = syncFile(`${this.#path}-wal`).then((isSynced) => {
      if (isSynced) this.#synced = writes;
      this.#syncing = null;
    });
  }

  #tidy(): void {
    this.keys.forgetExpired();
    if (this.#calls.problem !== null) return;
    try {
      this.#tables.forget(this.#now() - keptMs);
    } catch {
      // The next turn tries again.
    }
  }
}

/** False where it could not be done. */
async function syncFile(path: string): Promise<boolean> {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch {
    // Without a log nothing was written since the last checkpoint.
    return false;
  }
  const problem = await new Promise((resolve) => fdatasync(file, resolve));
  closeSync(file);
  return problem === null;
}
