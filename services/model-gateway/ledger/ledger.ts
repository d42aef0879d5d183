import type { Usage } from '../providers/usage.ts';
import type { Account } from './account.ts';
import type { Money, PricedCall } from './money.ts';
import type { RunKeys } from './run-keys.ts';
import type { UsageQuestion, UsageRow } from './usage-rows.ts';

export interface LedgerCall extends PricedCall {
  /** Where it goes first. */
  readonly upstream: string;
}

export interface LostAttempt {
  readonly upstream: string;
  /** It may have written all that was reserved, and not its input alone been read. */
  readonly written: boolean;
}

export interface CallResult {
  /** Where it was answered, or failed last. */
  readonly upstream: string;
  /** Of the answer; null where the upstream told none: it is estimated. */
  readonly usage: Usage | null;
  /** Words came after it, which it does not count. */
  readonly usageIsPartial?: boolean;
  /** Attempts that gave no whole answer, and may be paid all the same. */
  readonly lost?: readonly LostAttempt[];
  readonly outcome: 'done' | 'aborted' | 'failed';
  /** Bytes of answer that the client was sent. */
  readonly sentBytes: number;
  /** Of these, those of the model's words, where they are known: at least so much was written. */
  readonly contentBytes?: number | null | undefined;
  readonly ms: number;
  readonly firstTokenMs: number | null;
}

/** What was settled, for measurements. */
export interface Settlement {
  readonly usage: Usage;
  readonly estimated: boolean;
  readonly cost: Money;
}

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

export interface Ledger {
  /**
   * Sets aside what a call may cost, at the dearest upstream of its model.
   * @throws Unauthorized (`token_invalid`) where the key has ended, BudgetExceeded, Unavailable (`ledger_unavailable`) when it cannot be recorded
   */
  reserve(account: Account, call: LedgerCall): Promise<Reservation>;
  /** Of calls that ended; those under way are not in it. */
  usage(question: UsageQuestion): Promise<readonly UsageRow[]>;
  readonly keys: RunKeys;
  health(): { readonly status: 'ok' | 'degraded' | 'failing'; readonly detail: string };
  /** Records what is left to record, and lets go of the folder. */
  close(): Promise<void>;
}
