import { expect } from 'chai';
import { budgetRefusal, isForSize } from '../../services/agentd/planners/budget-refusal.ts';
import { checkPurse } from '../../services/model-gateway/ledger/budgets.ts';
import { moneyOf } from '../../services/model-gateway/ledger/money.ts';

/** What the gateway says, in its own words. */
function refusalOf(budget: number, used: number, reserved: number, needed: number) {
  const account = { key: 'key:1', run: 'run_1', models: null, budget: moneyOf(budget) };
  try {
    checkPurse(account, { used: moneyOf(used), reserved: moneyOf(reserved), budget: null }, moneyOf(needed));
  } catch (error) {
    return budgetRefusal('run_1', `{"error":{"message":"${(error as Error).message}"}}`);
  }
  return expect.fail('it fits');
}

describe('A request that the budget of a run has no room for', () => {
  it('is read from the words of the gateway', () => {
    expect(refusalOf(2, 0.5, 0.25, 1.5)).to.deep.equal({ budget: 2, left: 1.25, needed: 1.5 });
    expect(budgetRefusal('run_2', 'the budget of run run_1 is $2.00: …')).to.equal(null);
    expect(budgetRefusal('run_1', 'the budget of this installation on 2026-11-24 is $2.00')).to.equal(null);
  });

  it('is too large where it alone passes the budget, or most of the budget is left; else the money is spent', () => {
    const cases: [number, number, number, number, boolean][] = [
      [2, 0, 0, 3, true],
      [2, 1.9, 0, 3, true],
      [2, 0.1, 0, 1.95, true],
      [2, 1.5, 0, 0.6, false],
      [2, 1.99, 0, 0.02, false],
    ];
    for (const [budget, used, reserved, needed, expected] of cases)
      expect(isForSize(refusalOf(budget, used, reserved, needed)!), `${used} ${needed}`).to.equal(expected);
  });
});
