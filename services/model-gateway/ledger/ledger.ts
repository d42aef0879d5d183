import type { UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import { crashPoint } from '#kit/crash-point.ts';
import type { Account } from './accounts.ts';
import type { UsageQuestion } from './ledger-rows.ts';
import { maxCostOf, moneyOf, type PriceList, priceAt } from './money.ts';
import type { RunKeys } from './run-keys.ts';
import {
  type CallResult,
  costOfLost,
  type LedgerCall,
  type LostAttempt,
  possibleTokens,
  type Settlement,
  settlementOf,
} from './settlement.ts';
import type { LedgerStore, OpenedCall } from './store.ts';

/** Money set aside for one call. It is on record before this is given out. */
export interface Reservation {
  /** Whether a budget holds what the call may cost, so that it must not cost more. */
  readonly bounded: boolean;
  /**
   * Before each attempt. Those before it that may be paid are set aside too, beside what this one may cost.
   * @throws Unauthorized (`token_invalid`) where the key of the call has ended meanwhile, BudgetExceeded, Unavailable
   */
  check(lost?: readonly LostAttempt[]): Promise<void>;
  /** Puts what was used in its place. Again, it changes nothing and gives the same. */
  settle(result: CallResult): Settlement;
}

export interface Spending {
  readonly prices: PriceList;
  /** US dollars that all calls of a day may cost; null is no limit. */
  readonly dayBudget: number | null;
}

/** What calls use and cost, within their budgets. */
export class Ledger {
  readonly keys: RunKeys;
  readonly #store: LedgerStore;
  #prices: PriceList = new Map();
  #underWay = 0;

  constructor(store: LedgerStore, spending: Spending) {
    this.#store = store;
    this.keys = store.keys;
    this.change(spending);
  }

  /**
   * Sets aside what a call may cost, at the dearest upstream of its model.
   * @throws Unauthorized (`token_invalid`) where the key has ended, BudgetExceeded, Unavailable when it cannot be recorded
   */
  async reserve(account: Account, asked: LedgerCall): Promise<Reservation> {
    const call: LedgerCall = {
      ...asked,
      inputTokens: possibleTokens(asked.inputTokens),
      outputTokens: possibleTokens(asked.outputTokens),
    };
    const prices = this.#prices;
    const reserved = maxCostOf(prices, call);
    const opened = await this.#store.open({ ...call, account, reserved });
    crashPoint('ledger.reserved');
    this.#underWay++;
    const priced = (upstream: string) => priceAt(prices, call, upstream);
    let settled: Settlement | null = null;
    return {
      bounded: reserved > 0 && opened.bounded,
      check: (lost = []) => opened.check(reserved + costOfLost(call, lost, priced)),
      settle: (result) => {
        if (settled !== null) return settled;
        settled = settlementOf(call, result, priced);
        this.#end(opened, settled, result);
        return settled;
      },
    };
  }

  /** Prices and budget from the next call on; a call under way keeps the prices that it began with. */
  change({ prices, dayBudget }: Spending): void {
    this.#prices = prices;
    this.#store.limitDay(dayBudget === null ? null : moneyOf(dayBudget));
  }

  /** Of calls that ended; those under way are not in it. @throws Unavailable */
  usage(question: UsageQuestion): Promise<readonly UsageLine[]> {
    return this.#store.usage(question);
  }

  async health(): Promise<{ status: 'ok' | 'failing'; detail: string }> {
    const problem = await this.#store.problem();
    if (problem !== null) return { status: 'failing', detail: problem.message };
    const { cutOff } = this.#store;
    const before =
      cutOff === 0 ? '' : `; ${cutOff} cut off by the last end of the gateway count at what was reserved`;
    return { status: 'ok', detail: `${this.#underWay} calls under way${before}` };
  }

  /** Records what is left to record. */
  close(): Promise<void> {
    return this.#store.close();
  }

  #end(opened: OpenedCall, settlement: Settlement, result: CallResult): void {
    this.#underWay--;
    opened.end({
      upstream: result.upstream,
      state: result.outcome,
      ...settlement,
      sentBytes: Math.round(result.sentBytes),
      ms: Math.round(result.ms),
      firstTokenMs: result.firstTokenMs === null ? null : Math.round(result.firstTokenMs),
    });
  }
}
