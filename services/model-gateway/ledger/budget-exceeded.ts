import { CoreError, exitCodes } from '#kit/errors.ts';
import { dollarsOf, dollarText, type Money } from './money.ts';

export interface BudgetState {
  readonly budget: Money;
  readonly used: Money;
  /** For calls under way. */
  readonly reserved: Money;
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
