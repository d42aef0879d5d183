import type { Usage } from '../calls/usage.ts';
import type { Account } from './account.ts';
import type { Money } from './money.ts';
import type { RunKeys } from './run-keys.ts';
import type { UsageQuestion, UsageRow } from './usage-rows.ts';

export type { Account } from './account.ts';

export interface LedgerCall {
  readonly model: string;
  /** Where it goes first. */
  readonly upstream: string;
  /** Estimates, on the high side. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface CallResult {
  /** Where it was answered, or failed last. */
  readonly upstream: string;
  /** null where the upstream told none: it is estimated. */
  readonly usage: Usage | null;
  /** `failed` without usage and without a sent byte cost nothing. */
  readonly outcome: 'done' | 'aborted' | 'failed';
  /** Bytes of answer that the client was sent. */
  readonly sentBytes: number;
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
  /** Puts what was used in its place. Again, it changes nothing and gives the same. */
  settle(result: CallResult): Settlement;
}

export interface Ledger {
  /**
   * Sets aside what a call may cost, at the dearest upstream of its model.
   * @throws BudgetExceeded, Unavailable (`ledger_unavailable`) when it cannot be recorded
   */
  reserve(account: Account, call: LedgerCall): Promise<Reservation>;
  /** Of calls that ended; those under way are not in it. */
  usage(question: UsageQuestion): Promise<readonly UsageRow[]>;
  readonly keys: RunKeys;
  health(): { readonly status: 'ok' | 'degraded' | 'failing'; readonly detail: string };
  /** Records what is left to record, and lets go of the folder. */
  close(): Promise<void>;
}
