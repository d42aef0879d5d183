import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import { CoreError } from '#kit/errors.ts';
import type { Account } from '../../services/model-gateway/ledger/accounts.ts';
import type { BudgetExceeded } from '../../services/model-gateway/ledger/balances.ts';
import { type Ledger, ledgerFolder, openLedger } from '../../services/model-gateway/ledger/ledger.ts';
import type { CallResult } from '../../services/model-gateway/ledger/settlement.ts';
import { noUsage } from '../../services/model-gateway/providers/usage.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { readLedgerFile, reservedForTestCall, spentBy, testCall, testPrices } from './model-ledger.place.ts';

const token: Account = { key: 'token:tester', run: null, models: null, budget: null };
const start = Date.parse('2026-11-22T23:50:00Z');

describe('The ledger of model calls', () => {
  let state: string;
  let ledger: Ledger;
  let time: number;
  beforeEach(() => {
    state = temporaryFolder();
    time = start;
    ledger = open();
  });
  afterEach(() => ledger.close());

  function open(dayBudget: number | null = null): Ledger {
    return openLedger(state, { prices: testPrices, dayBudget, now: () => time });
  }

  function keyOf(run: string, budget: number | null): { account: Account; id: string; text: string } {
    const expires_at = new Date(time + 60_000).toISOString();
    const { key, id } = ledger.keys.mint({ run, models: ['large', 'free'], budget, expires_at });
    return { account: ledger.keys.find(key)!, id, text: key };
  }

  async function refusal(account: Account, call = testCall): Promise<CoreError> {
    try {
      await ledger.reserve(account, call);
    } catch (error) {
      expect(error).to.be.instanceOf(CoreError);
      return error as CoreError;
    }
    throw new Error('it was reserved');
  }

  it('refuses the call that would go over the budget, and says what is used, reserved and allowed', async () => {
    const { account } = keyOf('run_1', 0.03);
    const first = await ledger.reserve(account, testCall);
    first.settle({ ...spentBy(200), upstream: 'first' });
    await ledger.reserve(account, testCall);
    const error = (await refusal(account)) as BudgetExceeded;
    expect(error.code).to.equal('insufficient_quota');
    expect(error.status).to.equal(429);
    expect(error.facts).to.deep.equal({ budget: 0.03, used: 0.004, reserved: 0.014, needed: 0.014 });
    expect(error.message).to.equal(
      'the budget of run run_1 is $0.03: $0.004 is used, $0.014 is reserved for calls under way, and this call may cost $0.014',
    );
  });

  it('lets no mixture of calls at once spend more than the budget', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 500 }), fc.boolean()), { maxLength: 30 }),
        fc.integer({ min: 1, max: 200_000 }),
        async (calls, budget) => {
          const { account, id } = keyOf(`run_${crypto.randomUUID()}`, budget / 1_000_000);
          const tried = await Promise.allSettled(
            calls.map(async ([output, hasUsage]) => {
              const reservation = await ledger.reserve(account, testCall);
              await new Promise((resolve) => setImmediate(resolve));
              const { usage, ...rest } = spentBy(output);
              return reservation.settle({ ...rest, usage: hasUsage ? usage : null, upstream: 'second' }).cost;
            }),
          );
          const spent = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
          const { used, reserved } = ledger.keys.get(id);
          expect(Math.round(used * 1_000_000)).to.equal(spent.reduce((sum, one) => sum + one, 0));
          expect(reserved).to.equal(0);
          expect(used * 1_000_000).to.be.at.most(budget);
          const fits = Math.floor(budget / reservedForTestCall);
          expect(spent.length).to.be.at.least(Math.min(fits, calls.length));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('knows after a start what a key used before it, and that the key is in force', async () => {
    const { account, id, text } = keyOf('run_1', 0.02);
    (await ledger.reserve(account, testCall)).settle({ ...spentBy(450), upstream: 'second' });
    await ledger.close();
    ledger = open();
    expect(ledger.keys.get(id)).to.include({ used: 0.013, budget: 0.02, revoked_at: null });
    expect((await refusal(ledger.keys.find(text)!)).code).to.equal('insufficient_quota');
  });

  it('has one budget for a run, whichever of its keys asks', async () => {
    const before = keyOf('run_1', 0.02);
    (await ledger.reserve(before.account, testCall)).settle({ ...spentBy(0), upstream: 'second' });
    const after = keyOf('run_1', 0.02);
    await ledger.reserve(after.account, testCall);
    for (const { account } of [before, after]) {
      expect((await refusal(account)).facts).to.include({ used: 0.004, reserved: 0.014 });
    }
    ledger.keys.revoke(after.id);
    expect((await refusal(before.account)).code).to.equal('insufficient_quota');
  });

  it('counts what the upstream did not report as estimated: by the bytes sent, and by the attempts that were lost', async () => {
    const unreported = { usage: null, sentBytes: 700, ms: 1, firstTokenMs: null, upstream: 'first' } as const;
    const settle = async (change: Partial<CallResult>) =>
      (await ledger.reserve(token, testCall)).settle({ ...unreported, outcome: 'aborted', ...change });
    expect((await settle({})).usage).to.include({ input: 1_000, output: 200 });
    expect((await settle({ sentBytes: 1e9 })).usage.output).to.equal(testCall.outputTokens);
    const failed = { sentBytes: 0, outcome: 'failed', usage: noUsage } as const;
    expect(await settle(failed)).to.include({ estimated: false, cost: 0 });
    const lost = [
      { upstream: 'second', mayHaveOutput: false },
      { upstream: 'first', mayHaveOutput: true },
    ];
    const settled = await settle({ ...failed, lost });
    expect(settled).to.deep.include({ estimated: true, cost: 1_000 * 4 + 1_000 * 2 + 500 * 10 });
    expect(settled.usage).to.include({ input: 2_000, output: 500 });
    const [row] = await ledger.usage({ by: 'day', from: null, to: null, run: null });
    expect(row).to.include({ name: '2026-11-22', calls: 4, aborted: 2, failed: 2, estimated: 3 });
  });

  it('counts the words of an answer that ended early, whatever the upstream had counted until then', async () => {
    const { usage, ...rest } = spentBy(0);
    const settle = async (change: Partial<CallResult>) =>
      (await ledger.reserve(token, testCall)).settle({
        ...{ ...rest, usage, upstream: 'first', outcome: 'aborted', contentBytes: 700 },
        ...change,
      });
    expect(await settle({})).to.deep.include({ estimated: true, cost: 2_000 + 200 * 10 });
    expect((await settle({ outcome: 'done' })).usage.output).to.equal(200);
    const counted = { ...usage!, output: 7 };
    expect(await settle({ outcome: 'done', usage: counted })).to.include({ estimated: false, cost: 2_070 });
  });

  it('refuses a key that ended while its call waited', async () => {
    const revoked = keyOf('run_1', null);
    const reservation = await ledger.reserve(revoked.account, testCall);
    reservation.check();
    ledger.keys.revoke(revoked.id);
    expect(() => reservation.check()).to.throw('the key was revoked or has expired');
    expect((await refusal(revoked.account)).code).to.equal('token_invalid');
    const expired = keyOf('run_2', null);
    time += 60_000;
    expect((await refusal(expired.account)).code).to.equal('token_invalid');
  });

  it('writes what ended without being asked', async () => {
    for (const expected of [1, 2]) {
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(10), upstream: 'first' });
      await until('the end on record', () => readLedgerFile(state).total.calls === expected);
    }
  });

  it('settles a call once', async () => {
    const reservation = await ledger.reserve(token, testCall);
    const once = reservation.settle({ ...spentBy(10), upstream: 'first' });
    expect(reservation.settle({ ...spentBy(400), upstream: 'second' })).to.equal(once);
    const [row] = await ledger.usage({ by: 'model', from: null, to: null, run: null });
    expect(row).to.include({ calls: 1, output_tokens: 10, cost: 0.0021 });
  });

  it('has a price for cached input, and none for what costs nothing', async () => {
    const cached = { ...spentBy(0), usage: { input: 1_000, output: 0, cached: 900, cache_writes: 0 } };
    const { cost } = (await ledger.reserve(token, testCall)).settle({ ...cached, upstream: 'first' });
    expect(cost).to.equal(100 * 2 + 900 * 0.5);
    const free = { ...testCall, model: 'free', upstream: 'own' };
    const { account } = keyOf('run_1', 0.000_001);
    expect((await ledger.reserve(account, free)).settle({ ...spentBy(500), upstream: 'own' }).cost).to.equal(
      0,
    );
  });

  it('takes numbers that cannot be for the largest that can, so that no call spoils those beside it', async () => {
    const wild = [1e300, Number.POSITIVE_INFINITY, Number.NaN, -5, 2 ** 53, 0.5];
    const reservations = await Promise.all(
      wild.map((tokens) => ledger.reserve(token, { ...testCall, inputTokens: tokens, outputTokens: tokens })),
    );
    for (const [index, reservation] of reservations.entries()) {
      const tokens = wild[index]!;
      const usage = { input: tokens, output: tokens, cached: tokens, cache_writes: tokens };
      reservation.settle({ ...spentBy(1), usage, upstream: 'second' });
    }
    const [row] = await ledger.usage({ by: 'model', from: null, to: null, run: null });
    expect(row!.calls).to.equal(wild.length);
    expect(row!.cost).to.be.within(1, 6_000_000);
    expect(ledger.health().status).to.equal('ok');
  });

  it('holds the whole installation to its budget of a day, which starts again in UTC', async () => {
    await ledger.close();
    ledger = open(0.03);
    const overMidnight = await ledger.reserve(token, testCall);
    await ledger.reserve({ ...token, key: 'token:other' }, testCall);
    const error = await refusal(token);
    expect(error.code).to.equal('insufficient_quota');
    expect(error.message).to.contain('this installation on 2026-11-22 is $0.03');
    expect(error.retryAfter).to.equal(600);
    time += 11 * 60_000;
    await ledger.reserve(token, testCall);
    overMidnight.settle({ ...spentBy(100), upstream: 'first' });
    const days = await ledger.usage({ by: 'day', from: null, to: null, run: null });
    expect(days.map(({ name, calls }) => [name, calls])).to.deep.equal([['2026-11-22', 1]]);
    await ledger.reserve(token, testCall);
    expect((await refusal(token)).message).to.contain('on 2026-11-23');
  });

  it('answers by run, model and day, within days, and one run alone', async () => {
    const run = keyOf('run_1', null).account;
    const settle = async (account: Account, model: string, upstream: string) =>
      (await ledger.reserve(account, { ...testCall, model, upstream })).settle({ ...spentBy(100), upstream });
    await settle(token, 'large', 'first');
    await settle(token, 'large', 'second');
    await settle(run, 'free', 'own');
    time += 86_400_000;
    await settle(token, 'free', 'own');
    const all = { from: null, to: null, run: null };
    const names = async (question: Parameters<Ledger['usage']>[0]) =>
      (await ledger.usage(question)).map(({ name, calls, cost }) => [name, calls, cost]);
    expect(await names({ ...all, by: 'run' })).to.deep.equal([
      ['token:tester', 3, 0.009],
      ['run_1', 1, 0],
    ]);
    expect(await names({ ...all, by: 'model' })).to.deep.equal([
      ['large', 2, 0.009],
      ['free', 2, 0],
    ]);
    expect(await names({ ...all, by: 'day' })).to.deep.equal([
      ['2026-11-23', 1, 0],
      ['2026-11-22', 3, 0.009],
    ]);
    expect(await names({ ...all, by: 'day', from: '2026-11-23' })).to.deep.equal([['2026-11-23', 1, 0]]);
    expect(await names({ ...all, by: 'day', to: '2026-11-22', run: 'run_1' })).to.deep.equal([
      ['2026-11-22', 1, 0],
    ]);
  });

  it('keeps of a key its hash alone, and ends it when it expires or is revoked', async () => {
    const lasting = keyOf('run_1', 1);
    const ended = keyOf('run_2', 1);
    ledger.keys.revoke(ended.id);
    expect(ledger.keys.find(ended.text)).to.equal(null);
    expect(ledger.keys.find(`${lasting.text.slice(0, -1)}x`)).to.equal(null);
    expect((await refusal(ended.account)).code).to.equal('token_invalid');
    expect(ledger.keys.revoke(ended.id).revoked_at).to.equal(new Date(start).toISOString());
    expect(ledger.keys.list().map(({ run }) => run)).to.deep.equal(['run_1']);
    await ledger.close();
    const kept = readFileSync(join(ledgerFolder(state), 'ledger.sqlite'), 'latin1');
    expect(kept).to.contain(lasting.id).and.not.to.contain(lasting.text.slice(-48));
    ledger = open();
    expect(ledger.keys.find(ended.text)).to.equal(null);
    expect(ledger.keys.find(lasting.text)).to.include({ run: 'run_1', budget: 1_000_000 });
    time += 60_001;
    expect(ledger.keys.find(lasting.text)).to.equal(null);
    expect(ledger.keys.list()).to.deep.equal([]);
    expect(() => ledger.keys.get('key_0000000000000000'))
      .to.throw(CoreError)
      .with.property('code', 'key_not_found');
  });

  it('gives rising ids when the clock goes back, so that no call is lost', async () => {
    for (const step of [0, -3_600_000, 5, -1]) {
      time += step;
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    }
    await ledger.close();
    ledger = open();
    time -= 7_200_000;
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    await ledger.close();
    expect(readLedgerFile(state).calls).to.have.length(5);
    ledger = open();
  });

  it('counts calls that an earlier version left under way in its table', async () => {
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    await ledger.close();
    const db = new DatabaseSync(join(ledgerFolder(state), 'ledger.sqlite'));
    db.exec(`PRAGMA user_version = 1; INSERT INTO calls SELECT call + 5, account, model, upstream, 0, 1000, 500, 0, 0, 1,
      ${reservedForTestCall}, 0, 0, NULL FROM calls`);
    db.close();
    ledger = open();
    expect(ledger.health().detail).to.contain('1 cut off');
    const [row] = await ledger.usage({ by: 'day', from: null, to: null, run: null });
    expect(row).to.include({ calls: 2, unsettled: 1, output_tokens: 501 });
    await ledger.close();
    ledger = open();
    expect(ledger.health().detail).to.equal('0 calls under way');
  });

  it('does not start on a file that is no ledger, and names it', async () => {
    await ledger.close();
    const other = temporaryFolder();
    const first = openLedger(other, { prices: testPrices, dayBudget: null });
    await first.close();
    const path = join(ledgerFolder(other), 'ledger.sqlite');
    writeFileSync(path, 'not a database, and long enough to be read as one'.repeat(100));
    expect(() => openLedger(other, { prices: testPrices, dayBudget: null }))
      .to.throw(CoreError, path)
      .with.property('code', 'ledger_damaged');
    ledger = open();
  });
});
