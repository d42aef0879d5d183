import { expect } from 'chai';
import fc from 'fast-check';
import { CoreError } from '#kit/errors.ts';
import { noUsage } from '#kit/model-answers/usage.ts';
import type { Account } from '../../services/model-gateway/ledger/accounts.ts';
import type { BudgetExceeded } from '../../services/model-gateway/ledger/budgets.ts';
import type { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import type { CallResult } from '../../services/model-gateway/ledger/settlement.ts';
import { until } from '../fixtures/until.ts';
import {
  everything,
  type LedgerBench,
  reservedForTestCall,
  spentBy,
  testCall,
  token,
} from './model-ledger.scene.ts';

const day = 86_400_000;

/** What the ledger of model calls promises, wherever it is kept. @param makeBench at 2026-11-22T23:50:00Z */
export function ledgerContract(name: string, makeBench: () => Promise<LedgerBench>): void {
  describe(`the ledger of model calls in ${name}`, () => {
    let bench: LedgerBench;
    let ledger: Ledger;
    beforeEach(async () => {
      bench = await makeBench();
      ledger = await bench.open();
    });
    afterEach(async () => {
      await ledger.close();
      await bench.end();
    });

    async function reopen(dayBudget: number | null = null): Promise<void> {
      await ledger.close();
      ledger = await bench.open(dayBudget);
    }

    async function found(text: string): Promise<Account | null> {
      await ledger.keys.lookUp(text);
      return ledger.keys.find(text);
    }

    async function keyOf(
      run: string,
      budget: number | null,
    ): Promise<{ account: Account; id: string; text: string }> {
      const expires_at = new Date(bench.now() + 60_000).toISOString();
      const { key, id } = await ledger.keys.mint({ run, models: ['large', 'free'], budget, expires_at });
      return { account: (await found(key))!, id, text: key };
    }

    async function refused(work: () => Promise<unknown>): Promise<CoreError> {
      try {
        await work();
      } catch (error) {
        expect(error).to.be.instanceOf(CoreError);
        return error as CoreError;
      }
      throw new Error('it was not refused');
    }

    const refusal = (account: Account, call = testCall) => refused(() => ledger.reserve(account, call));

    it('refuses the call that would go over the budget, and says what is used, reserved and allowed', async () => {
      const { account } = await keyOf('run_1', 0.03);
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
            const { account, id } = await keyOf(`run_${crypto.randomUUID()}`, budget / 1_000_000);
            const tried = await Promise.allSettled(
              calls.map(async ([output, hasUsage]) => {
                const reservation = await ledger.reserve(account, testCall);
                await new Promise((resolve) => setImmediate(resolve));
                const { usage, ...rest } = spentBy(output);
                return reservation.settle({ ...rest, usage: hasUsage ? usage : null, upstream: 'second' })
                  .cost;
              }),
            );
            const spent = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
            const { used, reserved } = await ledger.keys.get(id);
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
      const { account, id, text } = await keyOf('run_1', 0.02);
      (await ledger.reserve(account, testCall)).settle({ ...spentBy(450), upstream: 'second' });
      await reopen();
      expect(await ledger.keys.get(id)).to.include({ used: 0.013, budget: 0.02, revoked_at: null });
      expect((await refusal((await found(text))!)).code).to.equal('insufficient_quota');
    });

    it('has one budget for a run, whichever of its keys asks', async () => {
      const before = await keyOf('run_1', 0.02);
      (await ledger.reserve(before.account, testCall)).settle({ ...spentBy(0), upstream: 'second' });
      const after = await keyOf('run_1', 0.02);
      await ledger.reserve(after.account, testCall);
      for (const { account } of [before, after]) {
        expect((await refusal(account)).facts).to.include({ used: 0.004, reserved: 0.014 });
      }
      await ledger.keys.revoke(after.id);
      expect((await refusal(before.account)).code).to.equal('insufficient_quota');
    });

    it('counts what the upstream did not report as estimated: by the bytes sent, and by the attempts that were lost', async () => {
      const unreported = {
        usage: null,
        sentBytes: 700,
        ms: 1,
        firstTokenMs: null,
        upstream: 'first',
      } as const;
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
      const [row] = await ledger.usage(everything);
      expect(row).to.include({ name: '2026-11-22', calls: 4, aborted: 2, failed: 2, estimated: 3 });
    });

    it('marks calls whose upstream contradicted itself, in each of its views', async () => {
      const { usage, ...rest } = spentBy(7);
      const settle = async (usage: CallResult['usage']) =>
        (await ledger.reserve(token, testCall)).settle({
          ...rest,
          upstream: 'first',
          outcome: 'done',
          usage,
        });
      await settle(usage);
      await settle({ ...usage!, contradictory: true });
      await reopen();
      await settle({ ...usage!, contradictory: true });
      for (const by of ['day', 'model', 'run'] as const) {
        const [row] = await ledger.usage({ ...everything, by });
        expect(row, by).to.include({ calls: 3, contradictory: 2, estimated: 0 });
      }
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
      const revoked = await keyOf('run_1', null);
      const reservation = await ledger.reserve(revoked.account, testCall);
      await reservation.check();
      await ledger.keys.revoke(revoked.id);
      expect((await refused(() => reservation.check())).message).to.equal(
        'the key was revoked or has expired',
      );
      expect((await refusal(revoked.account)).code).to.equal('token_invalid');
      const expired = await keyOf('run_2', null);
      await bench.pass(60_000);
      expect((await refusal(expired.account)).code).to.equal('token_invalid');
    });

    it('writes what ended without being asked', async () => {
      for (const expected of [1, 2]) {
        (await ledger.reserve(token, testCall)).settle({ ...spentBy(10), upstream: 'first' });
        await until('the end on record', async () => (await bench.counted()).total.calls === expected);
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
      const { account } = await keyOf('run_1', 0.000_001);
      expect(
        (await ledger.reserve(account, free)).settle({ ...spentBy(500), upstream: 'own' }).cost,
      ).to.equal(0);
    });

    it('takes numbers that cannot be for the largest that can, so that no call spoils those beside it', async () => {
      const wild = [1e300, Number.POSITIVE_INFINITY, Number.NaN, -5, 2 ** 53, 0.5];
      const reservations = await Promise.all(
        wild.map((tokens) =>
          ledger.reserve(token, { ...testCall, inputTokens: tokens, outputTokens: tokens }),
        ),
      );
      for (const [index, reservation] of reservations.entries()) {
        const tokens = wild[index]!;
        const usage = { input: tokens, output: tokens, cached: tokens, cache_writes: tokens };
        reservation.settle({ ...spentBy(1), usage, upstream: 'second' });
      }
      const [row] = await ledger.usage({ by: 'model', from: null, to: null, run: null });
      expect(row!.calls).to.equal(wild.length);
      expect(row!.cost).to.be.within(1, 6_000_000);
      expect((await ledger.health()).status).to.equal('ok');
    });

    it('holds the whole installation to its budget of a day, which starts again in UTC', async () => {
      await reopen(0.03);
      const overMidnight = await ledger.reserve(token, testCall);
      await ledger.reserve({ ...token, key: 'token:other' }, testCall);
      const error = await refusal(token);
      expect(error.code).to.equal('insufficient_quota');
      expect(error.message).to.contain('this installation on 2026-11-22 is $0.03');
      expect(error.retryAfter).to.equal(600);
      await bench.pass(11 * 60_000);
      await ledger.reserve(token, testCall);
      overMidnight.settle({ ...spentBy(100), upstream: 'first' });
      const days = await ledger.usage(everything);
      expect(days.map(({ name, calls }) => [name, calls])).to.deep.equal([['2026-11-22', 1]]);
      await ledger.reserve(token, testCall);
      expect((await refusal(token)).message).to.contain('on 2026-11-23');
    });

    it('answers by run, model and day, within days, and one run alone', async () => {
      const run = (await keyOf('run_1', null)).account;
      const settle = async (account: Account, model: string, upstream: string) =>
        (await ledger.reserve(account, { ...testCall, model, upstream })).settle({
          ...spentBy(100),
          upstream,
        });
      await settle(token, 'large', 'first');
      await settle(token, 'large', 'second');
      await settle(run, 'free', 'own');
      await bench.pass(86_400_000);
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
      const lasting = await keyOf('run_1', 1);
      const ended = await keyOf('run_2', 1);
      await ledger.keys.revoke(ended.id);
      expect(await found(ended.text)).to.equal(null);
      expect(await found(`${lasting.text.slice(0, -1)}x`)).to.equal(null);
      expect((await refusal(ended.account)).code).to.equal('token_invalid');
      expect((await ledger.keys.revoke(ended.id)).revoked_at).to.equal(new Date(bench.now()).toISOString());
      expect((await ledger.keys.list()).map(({ run }) => run)).to.deep.equal(['run_1']);
      const kept = await bench.dump();
      expect(kept).to.contain(lasting.id).and.not.to.contain(lasting.text.slice(-48));
      await reopen();
      expect(await found(ended.text)).to.equal(null);
      expect(await found(lasting.text)).to.include({ run: 'run_1', budget: 1_000_000 });
      await bench.pass(60_001);
      await until('its end', async () => (await found(lasting.text)) === null);
      expect(await ledger.keys.list()).to.deep.equal([]);
      for (const ask of ['get', 'revoke'] as const) {
        const error = await refused(() => ledger.keys[ask]('key_0000000000000000'));
        expect(error.code).to.equal('key_not_found');
      }
    });

    it('counts what a key without a budget spends against the budget of its run, and bind it', async () => {
      const bound = await keyOf('run_1', 0.02);
      const free = await keyOf('run_1', null);
      const first = await ledger.reserve(free.account, testCall);
      expect(first.bounded).to.equal(true);
      first.settle({ ...spentBy(400), upstream: 'first' });
      expect(await ledger.keys.get(bound.id)).to.include({ used: 0.006, reserved: 0 });
      await ledger.reserve(bound.account, testCall);
      for (const { account } of [bound, free])
        expect((await refusal(account)).code).to.equal('insufficient_quota');
      await ledger.keys.revoke(bound.id);
      await ledger.reserve(free.account, testCall);
    });

    it('holds a day again after a clock that was ahead was put right, and after a start since', async () => {
      await reopen(0.03);
      await bench.pass(400 * day);
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(400), upstream: 'second' });
      await bench.pass(-(400 * day));
      const spent = async () =>
        (await ledger.usage(everything)).find(({ name }) => name === '2026-11-22')?.calls;
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(400), upstream: 'second' });
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(400), upstream: 'second' });
      expect(await spent()).to.equal(2);
      expect((await refusal(token)).code).to.equal('insufficient_quota');
      await reopen(0.03);
      expect((await refusal(token)).code).to.equal('insufficient_quota');
      await bench.pass(day);
      await ledger.reserve(token, testCall);
    });

    it('sets aside what lost attempts may cost before the next one, and counts it where nobody settled the call', async () => {
      const { account, id } = await keyOf('run_1', 0.05);
      const reservation = await ledger.reserve(account, testCall);
      const lost = { upstream: 'second', mayHaveOutput: true };
      await reservation.check([lost]);
      expect((await ledger.keys.get(id)).reserved).to.equal((2 * reservedForTestCall) / 1_000_000);
      await reservation.check([lost, lost]);
      const third = await refused(() => reservation.check([lost, lost, lost]));
      expect(third.code).to.equal('insufficient_quota');
      expect((await ledger.keys.get(id)).reserved).to.equal((3 * reservedForTestCall) / 1_000_000);
      // Without its settlement the call is left as a kill leaves it.
      await reopen();
      expect(await ledger.keys.get(id)).to.include({
        used: (3 * reservedForTestCall) / 1_000_000,
        reserved: 0,
      });
      const [row] = await ledger.usage(everything);
      expect(row).to.include({ calls: 1, unsettled: 1 });
    });

    it('keeps what ended until it can be written, refuses calls until then, and continues without being asked', async () => {
      const held = [await ledger.reserve(token, testCall), await ledger.reserve(token, testCall)];
      const writable = await bench.refuseWrites();
      const error = await refusal(token);
      expect([error.code, error.status]).to.deep.equal(['ledger_unavailable', 503]);
      expect(error.message).to.contain('so it is not made: no room');
      for (const reservation of held) reservation.settle({ ...spentBy(10), upstream: 'first' });
      expect((await ledger.health()).status).to.equal('failing');
      expect((await refused(() => ledger.usage(everything))).status).to.equal(503);
      await writable();
      await until('the end of the problem', async () => (await ledger.health()).status === 'ok');
      expect((await bench.counted()).total).to.deep.equal({ calls: 2, unsettled: 0, cost: 4_200 });
    });

    it('estimates what an upstream reported as 0, and what came after its report', async () => {
      const settle = async (change: Partial<CallResult>) =>
        (await ledger.reserve(token, testCall)).settle({ ...spentBy(0), upstream: 'first', ...change });
      const none = { input: 0, output: 0, cached: 0, cache_writes: 0 };
      const zero = await settle({ usage: { ...none }, sentBytes: 700 });
      expect(zero.usage).to.include({ input: 1_000, output: 200 });
      const early = { usage: { ...none, input: 10, output: 1 }, contentBytes: 700 };
      expect((await settle({ ...early, usageIsPartial: true })).usage.output).to.equal(200);
      expect((await settle({ ...early, usageIsPartial: false })).usage.output).to.equal(1);
    });
  });
}
