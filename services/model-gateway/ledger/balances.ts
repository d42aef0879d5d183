import { Unauthorized } from '#kit/errors.ts';
import { type Account, purseOf } from './account.ts';
import { BudgetExceeded } from './budget-exceeded.ts';
import { dayOf } from './call-id.ts';
import type { Money } from './money.ts';

export interface Balance {
  used: Money;
  reserved: Money;
}

/** What a call has set aside. */
export interface Hold {
  /** Puts the cost in its place; once. */
  use(cost: Money): void;
}

const dayMs = 86_400_000;

/**
 * What was used and set aside, of runs that have keys and of the day. It decides at once; the one process that holds
 * the ledger is the only one that does.
 */
export class Balances {
  readonly #purses = new Map<string, Balance>();
  readonly #dayBudget: Money | null;
  readonly #now: () => number;
  #day: Balance & { readonly name: string };

  /** @param usedToday by all calls of this day that ended */
  constructor(options: {
    readonly dayBudget: Money | null;
    readonly usedToday: Money;
    readonly now: () => number;
  }) {
    this.#dayBudget = options.dayBudget;
    this.#now = options.now;
    this.#day = { name: dayOf(options.now()), used: options.usedToday, reserved: 0 };
  }

  /** Begins with what was used of a purse so far. */
  begin(purse: string, used: Money): void {
    this.#purses.set(purse, { used, reserved: 0 });
  }

  /** Forgets a purse that nobody will ask for any more. */
  end(purse: string): void {
    this.#purses.delete(purse);
  }

  /** null for one that did not begin, or has ended. */
  of(purse: string): Readonly<Balance> | null {
    return this.#purses.get(purse) ?? null;
  }

  /** Whether there is a limit for what an account may spend. */
  bind({ budget }: Account): boolean {
    return budget !== null || this.#dayBudget !== null;
  }

  /** @throws BudgetExceeded, Unauthorized (`token_invalid`) where the account has ended meanwhile */
  hold(account: Account, needed: Money): Hold {
    const now = this.#now();
    const own = account.budget === null ? null : this.#ownOf(account);
    const day = this.#today(now);
    if (own !== null && account.budget !== null && own.used + own.reserved + needed > account.budget) {
      const whose = account.run === null ? account.key.replace(':', ' ') : `run ${account.run}`;
      throw new BudgetExceeded(
        whose,
        { ...own, budget: account.budget, needed },
        { hint: 'The budget was set when the key was made; a run gets planner.bounds.money of agents.json.' },
      );
    }
    if (this.#dayBudget !== null && day.used + day.reserved + needed > this.#dayBudget) {
      throw new BudgetExceeded(
        `this installation on ${day.name}`,
        { used: day.used, reserved: day.reserved, budget: this.#dayBudget, needed },
        {
          hint: 'Raise budgets.day in models.json, or go on when the next day begins, in UTC.',
          retryAfter: (dayMs - (now % dayMs)) / 1000,
        },
      );
    }
    return holdIn(own === null ? [day] : [own, day], needed);
  }

  #ownOf(account: Account): Balance {
    const own = this.#purses.get(purseOf(account));
    if (own !== undefined) return own;
    throw new Unauthorized('token_invalid', 'the key was revoked or has expired');
  }

  #today(now: number): Balance & { readonly name: string } {
    const name = dayOf(now);
    // A call counts for the day on which it began; its hold keeps the balance of that day.
    if (name > this.#day.name) this.#day = { name, used: 0, reserved: 0 };
    return this.#day;
  }
}

function holdIn(balances: readonly Balance[], needed: Money): Hold {
  let open = true;
  for (const balance of balances) balance.reserved += needed;
  return {
    use(cost) {
      if (!open) return;
      open = false;
      for (const balance of balances) {
        balance.reserved -= needed;
        balance.used += cost;
      }
    },
  };
}
