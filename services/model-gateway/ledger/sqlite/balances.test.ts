import { expect } from 'chai';
import type { Account } from '../accounts.ts';
import { Balances } from './balances.ts';

const token: Account = { key: 'token:tester', run: null, models: null, budget: null };
const keyOf = (budget: number | null): Account => ({ key: 'key:1', run: 'run_1', models: null, budget });

function balancesOf(dayBudget: number | null = null): Balances {
  const balances = new Balances({ usedOn: () => 0, now: () => 0 });
  balances.limitDay(dayBudget);
  balances.begin('run:run_1', 0);
  return balances;
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'done';
}

describe('What is used and set aside of budgets', () => {
  it('may come to the budget, and not to more', () => {
    const limited = balancesOf();
    limited.limit('run:run_1', 10);
    for (const [balances, account] of [
      [balancesOf(), keyOf(10)],
      [limited, keyOf(null)],
      [balancesOf(10), token],
    ] as const) {
      expect(codeOf(() => balances.hold(account, 11))).to.equal('insufficient_quota');
      balances.hold(account, 10);
      expect(codeOf(() => balances.hold(account, 1))).to.equal('insufficient_quota');
    }
  });

  it('binds an account by its own budget, by that of its run or by that of the day', () => {
    expect(balancesOf().bind(token)).to.equal(false);
    expect(balancesOf().bind(keyOf(null))).to.equal(false);
    expect(balancesOf().bind(keyOf(5))).to.equal(true);
    expect(balancesOf(5).bind(token)).to.equal(true);
    const limited = balancesOf();
    limited.limit('run:run_1', 5);
    expect(limited.bind(keyOf(null))).to.equal(true);
    expect(limited.bind(token)).to.equal(false);
  });

  it('prefers the budget of a key to that of its run', () => {
    const balances = balancesOf();
    balances.limit('run:run_1', 100);
    expect(codeOf(() => balances.hold(keyOf(10), 11))).to.equal('insufficient_quota');
  });

  it('sets aside what is missing for a call, and checks the budget for that alone', () => {
    const balances = balancesOf();
    const hold = balances.hold(keyOf(10), 4);
    hold.raise(6);
    hold.raise(5);
    expect(balances.of('run:run_1')!.reserved).to.equal(6);
    expect(codeOf(() => hold.raise(11))).to.equal('insufficient_quota');
    balances.hold(keyOf(null), 0).use(20);
    expect(
      codeOf(() => hold.raise(6)),
      'over the budget by another call',
    ).to.equal('done');
    expect(balances.of('run:run_1')!.reserved).to.equal(6);
  });

  it('puts the cost in the place of what was set aside once', () => {
    const balances = balancesOf();
    const hold = balances.hold(keyOf(10), 4);
    hold.use(3);
    hold.use(3);
    hold.raise(6);
    expect(balances.of('run:run_1')).to.include({ used: 3, reserved: 0 });
  });

  it('takes nothing from a purse that ended, and limits none that did not begin', () => {
    const balances = balancesOf();
    balances.end('run:run_1');
    balances.limit('run:run_1', 10);
    expect(balances.of('run:run_1')).to.equal(null);
    expect(codeOf(() => balances.hold(keyOf(10), 1))).to.equal('token_invalid');
    expect(codeOf(() => balances.hold(token, 1))).to.equal('done');
  });
});
