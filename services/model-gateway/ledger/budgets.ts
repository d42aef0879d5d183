import { CoreError, exitCodes } from '#kit/errors.ts';
import type { Account } from './accounts.ts';
import { dollarsOf, dollarText, type Money } from './money.ts';

export interface Balance {
  readonly used: Money;
  /** For calls under way. */
  readonly reserved: Money;
}

/** Of a run, whichever of its keys asks. */
export interface Purse extends Balance {
  /** For keys that name none: the largest that another key of the run has. */
  readonly budget: Money | null;
}

export interface Day extends Balance {
  /** In UTC, as YYYY-MM-DD. */
  readonly name: string;
  /** What its calls may cost together; null is no limit. */
  readonly budget: Money | null;
  /** Until the next one begins. */
  readonly secondsLeft: number;
}

/** @param needed more, for one call. @throws BudgetExceeded */
export function checkPurse(account: Account, { used, reserved, budget: others }: Purse, needed: Money): void {
  const budget = account.budget ?? others;
  if (budget === null || used + reserved + needed <= budget) return;
  throw new BudgetExceeded(
    `run ${account.run}`,
    { used, reserved, budget, needed },
    { hint: 'The budget was set when the key was made; a run gets planner.bounds.money of agents.json.' },
  );
}

/** @param needed more, for one call. @throws BudgetExceeded */
export function checkDay({ name, used, reserved, budget, secondsLeft }: Day, needed: Money): void {
  if (budget === null || used + reserved + needed <= budget) return;
  throw new BudgetExceeded(
    `this installation on ${name}`,
    { used, reserved, budget, needed },
    {
      hint: 'Raise budgets.day in models.json, or go on when the next day begins, in UTC.',
      retryAfter: secondsLeft,
    },
  );
}

interface BudgetState extends Balance {
  readonly budget: Money;
  /** What the refused call may cost. */
  readonly needed: Money;
}

/** 429 with OpenAI's code. Waiting does not help, unless `retryAfter` says so. */
export class BudgetExceeded extends CoreError {
  override readonly status = 429;
  override readonly exitCode = exitCodes.refused;

  /** @param whose for example `run run_0199…` or `this installation today` */
  constructor(
    whose: string,
    { budget, used, reserved, needed }: BudgetState,
    more: { readonly hint: string; readonly retryAfter?: number },
  ) {
    super(
      'insufficient_quota',
      `the budget of ${whose} is ${dollarText(budget)}: ${dollarText(used)} is used, ${dollarText(reserved)} is reserved for calls under way, and this call may cost ${dollarText(needed)}`,
      {
        facts: {
          budget: dollarsOf(budget),
          used: dollarsOf(used),
          reserved: dollarsOf(reserved),
          needed: dollarsOf(needed),
        },
        ...more,
      },
    );
  }
}
