import { CoreError, exitCodes, Unauthorized } from '#kit/errors.ts';
import { type Account, purseOf } from './accounts.ts';
import { dollarsOf, dollarText, type Money } from './money.ts';
import { dayOf } from './tables.ts';

interface Balance {
  used: Money;
  reserved: Money;
}

/** Of a run, whichever of its keys asks. */
interface Purse extends Balance {
  /** For keys that name none: the largest that another key of the run has. */
  budget: Money | null;
}

export interface Hold {
  /** On which it counts, however long it takes. */
  readonly day: string;
  /** Sets more aside, up to this in all. @throws BudgetExceeded */
  raise(needed: Money): void;
  /** Puts the cost in its place; once. */
  use(cost: Money): void;
}

const dayMs = 86_400_000;

/**
 * What was used and set aside, of runs that have keys and of the day. It decides at once; the one process that holds
 * the ledger is the only one that does.
 */
export class Balances {
  readonly #purses = new Map<string, Purse>();
  readonly #days = new Map<string, Balance>();
  #dayBudget: Money | null;
  readonly #usedOn: (day: string) => Money;
  readonly #now: () => number;

  /** @param usedOn by all calls of a day that ended */
  constructor(options: {
    readonly dayBudget: Money | null;
    readonly usedOn: (day: string) => Money;
    readonly now: () => number;
  }) {
    this.#dayBudget = options.dayBudget;
    this.#usedOn = options.usedOn;
    this.#now = options.now;
    this.#balanceOf(dayOf(options.now()));
  }

  /** Begins with what was used of a purse so far. */
  begin(purse: string, used: Money): void {
    this.#purses.set(purse, { used, reserved: 0, budget: null });
  }

  /** Binds the keys of a run that have no budget of their own. */
  limit(purse: string, budget: Money | null): void {
    const found = this.#purses.get(purse);
    if (found !== undefined) found.budget = budget;
  }

  /** What the calls of a day may cost together from now on; null is no limit. */
  limitDay(budget: Money | null): void {
    this.#dayBudget = budget;
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
  bind(account: Account): boolean {
    if (account.budget !== null || this.#dayBudget !== null) return true;
    return this.#purses.get(purseOf(account))?.budget != null;
  }

  /** @throws BudgetExceeded, Unauthorized (`token_invalid`) where the account has ended meanwhile */
  hold(account: Account, needed: Money): Hold {
    const own = account.run === null ? null : this.#ownOf(account);
    const name = dayOf(this.#now());
    const day = this.#balanceOf(name);
    const balances = own === null ? [day] : [own, day];
    let held = 0;
    let open = true;
    const take = (more: Money) => {
      if (own !== null) checkOwn(account, own, more);
      this.#checkDay(name, day, more);
      held += more;
      for (const balance of balances) balance.reserved += more;
    };
    take(needed);
    return {
      day: name,
      raise(all) {
        if (open && all > held) take(all - held);
      },
      use(cost) {
        if (!open) return;
        open = false;
        for (const balance of balances) {
          balance.reserved -= held;
          balance.used += cost;
        }
      },
    };
  }

  #ownOf(account: Account): Purse {
    const own = this.#purses.get(purseOf(account));
    if (own !== undefined) return own;
    throw new Unauthorized('token_invalid', 'the key was revoked or has expired');
  }

  #checkDay(name: string, { used, reserved }: Balance, needed: Money): void {
    const budget = this.#dayBudget;
    if (budget === null || used + reserved + needed <= budget) return;
    throw new BudgetExceeded(
      `this installation on ${name}`,
      { used, reserved, budget, needed },
      {
        hint: 'Raise budgets.day in models.json, or go on when the next day begins, in UTC.',
        retryAfter: (dayMs - (this.#now() % dayMs)) / 1000,
      },
    );
  }

  #balanceOf(day: string): Balance {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const balance = { used: this.#usedOn(day), reserved: 0 };
    this.#days.set(day, balance);
    return balance;
  }
}

function checkOwn(account: Account, { used, reserved, budget: others }: Purse, needed: Money): void {
  const budget = account.budget ?? others;
  if (budget === null || used + reserved + needed <= budget) return;
  throw new BudgetExceeded(
    `run ${account.run}`,
    { used, reserved, budget, needed },
    { hint: 'The budget was set when the key was made; a run gets planner.bounds.money of agents.json.' },
  );
}

interface BudgetState {
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
