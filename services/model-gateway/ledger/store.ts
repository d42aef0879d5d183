import type { KeyRequest, MintedKey, RunKey } from '#kit/contracts/model-gateway/keys.ts';
import type { UsageGroup, UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import { type CoreError, NotFound, Unauthorized } from '#kit/errors.ts';
import type { Account, AccountsOfKeys } from './accounts.ts';
import type { Money } from './money.ts';
import type { CallResult, LedgerCall, Settlement } from './settlement.ts';

/** Where calls, what is left of budgets, and keys of runs are kept: SQLite for one gateway, PostgreSQL for several. */
export interface LedgerStore {
  readonly keys: RunKeys;
  /** How many calls of gateways that ended it has counted at what was reserved. */
  readonly cutOff: number;
  /**
   * On record, and set aside from every budget that binds it, when it resolves.
   * @throws Unauthorized (`token_invalid`) where the key has ended, BudgetExceeded, Unavailable when it cannot be recorded
   */
  open(call: NewCall): Promise<OpenedCall>;
  /** Of calls that ended. Most expensive first; days newest first. @throws Unavailable */
  usage(question: UsageQuestion): Promise<readonly UsageLine[]>;
  /** What the calls of a day may cost together from now on; null is no limit. */
  limitDay(budget: Money | null): void;
  /** Why no call can be put on record now; null where one can. */
  problem(): Promise<CoreError | null>;
  /** Records what is left to record. */
  close(): Promise<void>;
}

export interface NewCall extends LedgerCall {
  readonly account: Account;
  /** What it may cost. */
  readonly reserved: Money;
}

export interface OpenedCall {
  /** Whether there is a budget that its account must keep within. */
  readonly bounded: boolean;
  /**
   * Before each attempt. Sets more aside, up to this in all.
   * @throws Unauthorized (`token_invalid`) where its key has ended meanwhile, BudgetExceeded, Unavailable
   */
  check(reserved: Money): Promise<void>;
  /** Puts the cost in the place of what was set aside; once. It is written as soon as it can be, and tried again until then. */
  end(end: CallEnd): void;
}

export interface CallEnd
  extends Settlement,
    Pick<CallResult, 'upstream' | 'sentBytes' | 'ms' | 'firstTokenMs'> {
  readonly state: CallResult['outcome'];
}

export interface UsageQuestion {
  readonly by: UsageGroup;
  /** Days, both included; null is no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Of one run alone; null: of all. */
  readonly run: string | null;
}

/** Keys of runs: shown once, kept as a hash, good until they expire or are revoked. */
export interface RunKeys extends AccountsOfKeys {
  /** @param request checked. @throws Unavailable */
  mint(request: KeyRequest): Promise<MintedKey>;
  /** Those in force, newest first. */
  list(): Promise<readonly RunKey[]>;
  /** Also of one that has ended. @throws NotFound (`key_not_found`) */
  get(id: string): Promise<RunKey>;
  /** Again, it changes nothing. @throws NotFound (`key_not_found`), Unavailable */
  revoke(id: string): Promise<RunKey>;
}

/** Keys begin like every token of Core, so that what hides tokens hides them. */
export const runKeyPrefix = 'core_run-key_';

export function keyEnded(): Unauthorized {
  return new Unauthorized('token_invalid', 'the key was revoked or has expired');
}

export function noSuchKey(id: string): NotFound {
  return new NotFound(
    'key_not_found',
    `there is no key ${JSON.stringify(id)}; GET /v1/keys lists those in force`,
  );
}
