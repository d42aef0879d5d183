import { type Account, purseOf } from '../accounts.ts';
import { type Balance, checkDay, checkPurse, type Purse } from '../budgets.ts';
import type { Money } from '../money.ts';
import { keyEnded } from '../store.ts';
import { dayOf } from './tables.ts';

type Changing<T> = { -readonly [Member in keyof T]: T[Member] };

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
  readonly #purses = new Map<string, Changing<Purse>>();
  readonly #days = new Map<string, Changing<Balance>>();
  #dayBudget: Money | null = null;
  readonly #usedOn: (day: string) => Money;
  readonly #now: () => number;

  /** @param usedOn by all calls of a day that ended */
  constructor(options: {
    readonly usedOn: (day: string) => Money;
    readonly now: () => number;
  }) {
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
  of(purse: string): Balance | null {
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
      if (own !== null) checkPurse(account, own, more);
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

  #ownOf(account: Account): Changing<Purse> {
    const own = this.#purses.get(purseOf(account));
    if (own !== undefined) return own;
    throw keyEnded();
  }

  #checkDay(name: string, day: Balance, needed: Money): void {
    const secondsLeft = (dayMs - (this.#now() % dayMs)) / 1000;
    checkDay({ ...day, name, budget: this.#dayBudget, secondsLeft }, needed);
  }

  #balanceOf(day: string): Changing<Balance> {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const balance = { used: this.#usedOn(day), reserved: 0 };
    this.#days.set(day, balance);
    return balance;
  }
}
