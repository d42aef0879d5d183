import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Forbidden } from '#kit/errors.ts';
import type { Account } from './account.ts';
import type { Balances, Hold } from './balances.ts';
import { type CallIds, firstCallOf } from './call-id.ts';
import type { CallRows, OpenCall } from './call-rows.ts';
import type { CallWriter } from './call-writer.ts';
import type { CallResult, Ledger, LedgerCall, LostAttempt, Reservation, Settlement } from './ledger.ts';
import { mostOf, type PriceList, priceAt } from './money.ts';
import type { RunKeys } from './run-keys.ts';
import { costOfLost, possibleTokens, settlementOf } from './settlement.ts';
import { notRecorded } from './storage-error.ts';
import { readUsage, type UsageQuestion, type UsageRow } from './usage-rows.ts';

export interface LedgerParts {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly rows: CallRows;
  readonly calls: CallWriter;
  readonly keys: RunKeys;
  readonly balances: Balances;
  readonly prices: PriceList;
  readonly ids: CallIds;
  /** How many calls the last end of the gateway cut off. */
  readonly cutOff: number;
  readonly now: () => number;
  /** Gives the folder to the next process. */
  release(): void;
}

/** Single calls are kept so long; what they came to is kept for good. */
const keptMs = 90 * 86_400_000;
const tidyMs = 10_000;
/** What a power cut can cost. */
const syncMs = 1_000;

/** A ledger in SQLite, held by this process alone. */
export class SqliteLedger implements Ledger {
  readonly keys: RunKeys;
  readonly #parts: LedgerParts;
  readonly #timers: readonly NodeJS.Timeout[];
  #underWay = 0;
  #synced = 0;
  #syncing: Promise<void> | null = null;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
    this.keys = parts.keys;
    this.#timers = [
      setInterval(() => this.#sync(), syncMs).unref(),
      setInterval(() => this.#tidy(), tidyMs).unref(),
    ];
  }

  async reserve(account: Account, asked: LedgerCall): Promise<Reservation> {
    this.keys.check(account);
    checkModel(account, asked.model);
    const call: LedgerCall = {
      ...asked,
      inputTokens: possibleTokens(asked.inputTokens),
      outputTokens: possibleTokens(asked.outputTokens),
    };
    const { balances, prices, ids, calls } = this.#parts;
    const reserved = mostOf(prices, call);
    const hold = balances.hold(account, reserved);
    const { model, upstream, inputTokens, outputTokens } = call;
    const row: OpenCall = { id: ids.next(), account, model, upstream, inputTokens, outputTokens, reserved };
    try {
      await calls.open(row);
    } catch (error) {
      hold.use(0);
      throw notRecorded(error);
    }
    this.#underWay++;
    let settled: Settlement | null = null;
    return {
      bounded: reserved > 0 && balances.bind(account),
      check: (lost) => this.#check(row, call, hold, lost),
      settle: (result) => {
        if (settled !== null) return settled;
        settled = this.#settle(row, call, hold.day, result);
        hold.use(settled.cost);
        return settled;
      },
    };
  }

  async usage(question: UsageQuestion): Promise<readonly UsageRow[]> {
    try {
      await this.#parts.calls.flush();
    } catch (error) {
      throw notRecorded(error, 'usage cannot be reported before calls that ended are on record');
    }
    return readUsage(this.#parts.db, question);
  }

  health(): { status: 'ok' | 'degraded' | 'failing'; detail: string } {
    const { calls, cutOff } = this.#parts;
    if (calls.problem !== null) return { status: 'failing', detail: notRecorded(calls.problem).message };
    const before =
      cutOff === 0 ? '' : `; ${cutOff} cut off by the last end of the gateway count at what was reserved`;
    return { status: 'ok', detail: `${this.#underWay} calls under way${before}` };
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const { calls, db, release } = this.#parts;
    try {
      await calls.flush();
    } finally {
      calls.close();
      await this.#syncing;
      // The last one to close writes the log into the ledger, and syncs it.
      db.close();
      release();
    }
  }

  #check(row: OpenCall, call: LedgerCall, hold: Hold, lost: readonly LostAttempt[] = []): void {
    this.keys.check(row.account);
    if (lost.length === 0) return;
    const { calls, prices } = this.#parts;
    const reserved = row.reserved + costOfLost(call, lost, (name) => priceAt(prices, call, name));
    if (reserved === row.reserved) return;
    hold.raise(reserved);
    try {
      calls.raise({ ...row, reserved });
    } catch (error) {
      throw notRecorded(error);
    }
  }

  #settle(row: OpenCall, call: LedgerCall, day: string, result: CallResult): Settlement {
    const { prices, calls } = this.#parts;
    const { upstream, outcome, sentBytes } = result;
    const settlement = settlementOf(call, result, (name) => priceAt(prices, call, name));
    this.#underWay--;
    calls.end({
      open: row,
      day,
      upstream,
      state: outcome,
      ...settlement,
      sentBytes: Math.round(sentBytes),
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
    const { calls, path } = this.#parts;
    if (this.#syncing !== null || calls.writes === this.#synced) return;
    const { writes } = calls;
    this.#syncing = syncFile(`${path}-wal`).then((isSynced) => {
      if (isSynced) this.#synced = writes;
      this.#syncing = null;
    });
  }

  #tidy(): void {
    const { keys, rows, calls, now } = this.#parts;
    keys.forgetExpired();
    if (calls.problem !== null) return;
    try {
      rows.forget(firstCallOf(now() - keptMs));
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

function checkModel({ models, key, run }: Account, model: string): void {
  if (models === null || models.includes(model)) return;
  throw new Forbidden(
    'model_not_allowed',
    `${run === null ? key : `run ${run}`} may not ask model ${JSON.stringify(model)}: its key is for ${models.join(', ') || 'none'}`,
  );
}
