import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import type { Account } from '../../services/model-gateway/ledger/accounts.ts';
import { type Ledger, ledgerFolder, openLedger } from '../../services/model-gateway/ledger/ledger.ts';
import type { CallResult } from '../../services/model-gateway/ledger/settlement.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { reservedForTestCall, spentBy, testCall, testPrices } from './model-ledger.place.ts';

const token: Account = { key: 'token:tester', run: null, models: null, budget: null };
const day = 86_400_000;
const everything = { by: 'day', from: null, to: null, run: null } as const;

describe('Budgets in the ledger of model calls', () => {
  let state: string;
  let ledger: Ledger;
  let time: number;
  beforeEach(() => {
    state = temporaryFolder();
    time = Date.parse('2026-11-22T12:00:00Z');
    ledger = open();
  });
  afterEach(() => ledger.close());

  function open(dayBudget: number | null = null): Ledger {
    return openLedger(state, { prices: testPrices, dayBudget, now: () => time });
  }

  function keyOf(budget: number | null): { account: Account; id: string } {
    const expires_at = new Date(time + 60_000).toISOString();
    const { key, id } = ledger.keys.mint({ run: 'run_1', models: ['large'], budget, expires_at });
    return { account: ledger.keys.find(key)!, id };
  }

  async function codeOf(work: () => unknown): Promise<string> {
    try {
      await work();
    } catch (error) {
      expect(error).to.be.instanceOf(CoreError);
      return (error as CoreError).code;
    }
    return 'done';
  }

  it('count what a key without a budget spends against the budget of its run, and bind it', async () => {
    const bound = keyOf(0.02);
    const free = keyOf(null);
    const first = await ledger.reserve(free.account, testCall);
    expect(first.bounded).to.equal(true);
    first.settle({ ...spentBy(400), upstream: 'first' });
    expect(ledger.keys.get(bound.id)).to.include({ used: 0.006, reserved: 0 });
    await ledger.reserve(bound.account, testCall);
    for (const { account } of [bound, free])
      expect(await codeOf(() => ledger.reserve(account, testCall))).to.equal('insufficient_quota');
    ledger.keys.revoke(bound.id);
    expect(await codeOf(() => ledger.reserve(free.account, testCall))).to.equal('done');
  });

  it('hold a day again after a clock that was ahead was put right, and after a start since', async () => {
    await ledger.close();
    ledger = open(0.03);
    time += 400 * day;
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(400), upstream: 'second' });
    time -= 400 * day;
    const spent = async () =>
      (await ledger.usage(everything)).find(({ name }) => name === '2026-11-22')?.calls;
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(400), upstream: 'second' });
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(400), upstream: 'second' });
    expect(await spent()).to.equal(2);
    expect(await codeOf(() => ledger.reserve(token, testCall))).to.equal('insufficient_quota');
    await ledger.close();
    ledger = open(0.03);
    expect(await codeOf(() => ledger.reserve(token, testCall))).to.equal('insufficient_quota');
    time += day;
    expect(await codeOf(() => ledger.reserve(token, testCall))).to.equal('done');
  });

  it('set aside what lost attempts may cost before the next one, also for a start after a kill', async () => {
    const { account, id } = keyOf(0.05);
    const reservation = await ledger.reserve(account, testCall);
    const lost = { upstream: 'second', mayHaveOutput: true };
    reservation.check([lost]);
    expect(ledger.keys.get(id).reserved).to.equal((2 * reservedForTestCall) / 1_000_000);
    reservation.check([lost, lost]);
    expect(await codeOf(() => reservation.check([lost, lost, lost]))).to.equal('insufficient_quota');
    expect(ledger.keys.get(id).reserved).to.equal((3 * reservedForTestCall) / 1_000_000);
    // Without its settlement the call is left as a kill leaves it.
    await ledger.close();
    ledger = open();
    expect(ledger.keys.get(id)).to.include({ used: (3 * reservedForTestCall) / 1_000_000, reserved: 0 });
    const [row] = await ledger.usage(everything);
    expect(row).to.include({ calls: 1, unsettled: 1 });
  });

  it('estimate what an upstream reported as 0, and what came after its report', async () => {
    const settle = async (change: Partial<CallResult>) =>
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(0), upstream: 'first', ...change });
    const none = { input: 0, output: 0, cached: 0, cache_writes: 0 };
    const zero = await settle({ usage: { ...none }, sentBytes: 700 });
    expect(zero.usage).to.include({ input: 1_000, output: 200 });
    const early = { usage: { ...none, input: 10, output: 1 }, contentBytes: 700 };
    expect((await settle({ ...early, usageIsPartial: true })).usage.output).to.equal(200);
    expect((await settle({ ...early, usageIsPartial: false })).usage.output).to.equal(1);
  });

  it('wait beside the event loop for a ledger that another process has locked', async () => {
    const other = new DatabaseSync(join(ledgerFolder(state), 'ledger.sqlite'));
    try {
      other.exec('BEGIN IMMEDIATE');
      const opened = ledger.reserve(token, testCall);
      await delay(100);
      expect(ledger.health().status).to.equal('ok');
      other.exec('ROLLBACK');
      const reservation = await opened;
      other.exec('BEGIN IMMEDIATE');
      reservation.settle({ ...spentBy(1), upstream: 'first' });
      const counted = ledger.usage(everything);
      await delay(100);
      expect(ledger.health().status).to.equal('ok');
      other.exec('ROLLBACK');
      expect((await counted)[0]!.calls).to.equal(1);
    } finally {
      other.close();
    }
  });
});
