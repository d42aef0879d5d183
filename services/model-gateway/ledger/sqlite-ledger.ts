import { Forbidden } from '#kit/errors.ts';
import type { Account } from './account.ts';
import type { Background } from './background.ts';
import type { Balances, Hold } from './balances.ts';
import { type CallIds, firstCallOf } from './call-id.ts';
import type { OpenCall } from './call-rows.ts';
import type { GroupCommit } from './group-commit.ts';
import type { CallResult, Ledger, LedgerCall, LostAttempt, Reservation, Settlement } from './ledger.ts';
import type { LogSync } from './log-sync.ts';
import { mostOf, type PriceList, priceAt } from './money.ts';
import type { OpenCallsLog } from './open-calls-log.ts';
import type { RunKeys } from './run-keys.ts';
import { costOfLost, possibleTokens, settlementOf } from './settlement.ts';
import { notRecorded } from './storage-error.ts';
import type { UsageQuestion, UsageRow } from './usage-rows.ts';

export interface LedgerParts {
  readonly keys: RunKeys;
  readonly balances: Balances;
  readonly prices: PriceList;
  readonly ids: CallIds;
  readonly open: Set<number>;
  readonly commits: GroupCommit;
  readonly openCalls: OpenCallsLog;
  readonly background: Background;
  readonly log: LogSync;
  /** How many calls the last end of the gateway cut off. */
  readonly cutOff: number;
  readonly now: () => number;
  close(): void;
}

/** Single calls are kept so long; what they came to is kept for good. */
const keptMs = 90 * 86_400_000;
const tidyMs = 10_000;
/** What a power cut can cost. */
const syncMs = 1_000;
/** So many commits grow the log by some megabytes. */
const commitsBeforeTidy = 1_000;

/** A ledger in SQLite, held by this process alone. */
export class SqliteLedger implements Ledger {
  readonly keys: RunKeys;
  readonly #parts: LedgerParts;
  readonly #timers: readonly NodeJS.Timeout[];
  #synced = 0;
  #tidied = 0;
  #tidying: Promise<unknown> | null = null;
  #syncing: Promise<void> | null = null;
  /** Ended calls that are in the ledger, perhaps not on the disk. */
  readonly #recorded: number[] = [];

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
    const { balances, prices, ids, open, commits } = this.#parts;
    const reserved = mostOf(prices, call);
    const hold = balances.hold(account, reserved);
    const row: OpenCall = {
      id: ids.next(),
      account,
      model: call.model,
      upstream: call.upstream,
      inputTokens: call.inputTokens,
      outputTokens: call.outputTokens,
      reserved,
    };
    open.add(row.id);
    try {
      await commits.open(row, open.size === 1);
    } catch (error) {
      open.delete(row.id);
      hold.use(0);
      throw notRecorded(error);
    }
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
      await this.#parts.commits.flush();
    } catch (error) {
      throw notRecorded(error, 'what was used cannot be told before calls that ended are on record');
    }
    return this.#parts.background.do({ task: 'usage', question });
  }

  health(): { status: 'ok' | 'degraded' | 'failing'; detail: string } {
    const { commits, cutOff, open } = this.#parts;
    if (commits.problem !== null) return { status: 'failing', detail: notRecorded(commits.problem).message };
    const before =
      cutOff === 0 ? '' : `; ${cutOff} cut off by the last end of the gateway count at what was reserved`;
    return { status: 'ok', detail: `${open.size} calls under way${before}` };
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const { commits, openCalls, background, log } = this.#parts;
    try {
      await commits.flush();
    } finally {
      commits.close();
      await this.#tidying;
      await this.#syncing;
      await this.#syncAll();
      openCalls.close();
      await background.close();
      await log.close();
      this.#parts.close();
    }
  }

  #check(row: OpenCall, call: LedgerCall, hold: Hold, lost: readonly LostAttempt[] = []): void {
    this.keys.check(row.account);
    if (lost.length === 0) return;
    const { commits, prices } = this.#parts;
    const reserved = row.reserved + costOfLost(call, lost, (name) => priceAt(prices, call, name));
    if (reserved === row.reserved) return;
    hold.raise(reserved);
    try {
      commits.raise({ ...row, reserved });
    } catch (error) {
      throw notRecorded(error);
    }
  }

  #settle(row: OpenCall, call: LedgerCall, day: string, result: CallResult): Settlement {
    const { prices, open, commits } = this.#parts;
    const { upstream, outcome, sentBytes } = result;
    const settlement = settlementOf(call, result, (name) => priceAt(prices, call, name));
    open.delete(row.id);
    commits.end({
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

  #sync(): void {
    const { commits } = this.#parts;
    if (this.#syncing !== null || commits.commits === this.#synced) return;
    this.#synced = commits.commits;
    this.#syncing = this.#syncAll()
      // What is not forgotten is looked up at the next start, and found to have ended.
      .catch(() => {})
      .finally(() => {
        this.#syncing = null;
      });
  }

  /** What ended is forgotten where it began only when its end is on the disk. */
  async #syncAll(): Promise<void> {
    const { commits, openCalls, log } = this.#parts;
    this.#recorded.push(...commits.takeRecorded());
    const synced = this.#recorded.length;
    await openCalls.sync();
    if (await log.sync()) openCalls.forget(this.#recorded.splice(0, synced));
  }

  #tidy(): void {
    const { commits, background, keys, now } = this.#parts;
    keys.forgetExpired();
    if (this.#tidying !== null || commits.commits - this.#tidied < commitsBeforeTidy) return;
    this.#tidied = commits.commits;
    this.#tidying = background
      .do({ task: 'tidy', before: firstCallOf(now() - keptMs) })
      .catch(() => {})
      .finally(() => {
        this.#tidying = null;
      });
  }
}

function checkModel({ models, key, run }: Account, model: string): void {
  if (models === null || models.includes(model)) return;
  throw new Forbidden(
    'model_not_allowed',
    `${run === null ? key : `run ${run}`} may not ask model ${JSON.stringify(model)}: its key is for ${models.join(', ') || 'none'}`,
  );
}
