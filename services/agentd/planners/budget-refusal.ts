import { Refused } from '#kit/errors.ts';

/** The gateway refused a call, because what it may cost does not fit into what is left of the run's budget. In US dollars. */
export interface BudgetRefusal {
  readonly budget: number;
  readonly left: number;
  /** What the refused call may cost. */
  readonly needed: number;
}

/** From the gateway's words; null for those of another refusal. */
export function budgetRefusal(runId: string, message: string): BudgetRefusal | null {
  const at = message.indexOf(`the budget of run ${runId} is`);
  if (at === -1) return null;
  const [budget, used, reserved, needed] = (message.slice(at).match(/\$\d+(?:\.\d+)?/g) ?? []).map((text) =>
    Number(text.slice(1)),
  );
  if (budget === undefined || used === undefined || reserved === undefined || needed === undefined)
    return null;
  return { budget, left: budget - used - reserved, needed };
}

/** True if the request is what is too large: it would not fit into the whole budget, or half of the budget is left. */
export function isForSize({ budget, left, needed }: BudgetRefusal): boolean {
  return needed > budget || left >= budget / 2;
}

/** @param who what asked, for example `agent claude`. @param setting of the budget, in agents.json */
export function requestTooLarge(
  who: string,
  model: string,
  { budget, left, needed }: BudgetRefusal,
  setting: string,
): Refused {
  const dollars = (amount: number) => `$${amount.toFixed(2)}`;
  return new Refused(
    'planner_request_too_large',
    `planning stopped at a request of ${who} that is too large: it may cost ${dollars(needed)}, and ${dollars(left)} of ${dollars(budget)} is left; nothing is proposed`,
    {
      facts: { needed, left, limit: budget, setting },
      hint: `the cost of the longest answer is reserved before each request: set limits.output_tokens of ${model} in models.json, make the issue smaller, or raise ${setting} in agents.json`,
    },
  );
}
