import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { type CoreError, codeOf } from '#kit/errors.ts';
import type { Account } from '../../services/model-gateway/ledger/accounts.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import type { PresenceOptions } from '../../services/model-gateway/ledger/presence.ts';
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { ledgerInDatabase } from '../fixtures/gateway/ledger-stores.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { startPostgresPair } from '../fixtures/postgres-standby.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { readLedgerDatabase } from './model-ledger.benches.ts';
import {
  everything,
  reservedForTestCall,
  spentBy,
  testCall,
  testPrices,
  token,
} from './model-ledger.scene.ts';
import type { SharedLedger } from './model-ledger.spender.ts';

const spender = fileURLToPath(new URL('./model-ledger.spender.ts', import.meta.url));
/** Short, so that a test sees a gateway go. */
const hasty: PresenceOptions = { leaseMs: 900, lookMs: 300 };

describeWith(['postgres'], 'gateways that share a ledger', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let opened: Ledger[];
  let children: ChildProcess[];

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());
  beforeEach(async () => {
    settings = await server.database();
    opened = [];
    children = [];
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.allSettled(opened.map((ledger) => ledger.close()));
  });

  function open(
    options: PresenceOptions = {},
    dayBudget: number | null = null,
    at: PostgresSettings = settings,
  ): Ledger {
    const ledger = new Ledger(ledgerInDatabase(at, options), { prices: testPrices, dayBudget });
    opened.push(ledger);
    return ledger;
  }

  /** Another process with a gateway's ledger. */
  function start(mode: string, change: Partial<SharedLedger> = {}, env: Record<string, string> = {}) {
    const place: SharedLedger = { settings, account: token, dayBudget: null, ...change };
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', spender, JSON.stringify(place), mode],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
    );
    children.push(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line));
    return { child, lines, ended: once(child, 'exit') };
  }

  async function keyOf(
    ledger: Ledger,
    budget: number | null,
  ): Promise<{ id: string; account: Account; key: string }> {
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const { key, id } = await ledger.keys.mint({ run: 'run_1', models: null, budget, expires_at });
    await ledger.keys.lookUp(key);
    return { id, key, account: ledger.keys.find(key)! };
  }

  async function refusal(work: () => Promise<unknown>): Promise<CoreError> {
    return work().then(
      () => expect.fail('it was not refused'),
      (error) => error,
    );
  }

  const balances = () =>
    server.ask<{ name: string; used: number; reserved: number }>(
      settings,
      'SELECT name, used::float8 AS used, reserved::float8 AS reserved FROM gateway_balances ORDER BY name',
    );
  const costOf = (lines: readonly string[]) =>
    lines.reduce((sum, line) => sum + (line.startsWith('ended ') ? Number(line.slice(6)) : 0), 0);

  for (const [whose, own, ofDay] of [
    ['a run', 0.5, null],
    ['a day', null, 0.5],
  ] as const) {
    it(`spend the budget of ${whose} to its end and not a micro-dollar over it, four processes at once`, async () => {
      const { account } = await keyOf(open(), own);
      const gateways = Array.from({ length: 4 }, () => start('budget', { account, dayBudget: ofDay }));
      let looking = true;
      const most = (async () => {
        let most = 0;
        while (looking)
          for (const { used, reserved } of await balances()) most = Math.max(most, used + reserved);
        return most;
      })();
      await Promise.all(gateways.map(({ ended }) => ended));
      looking = false;
      const spent = gateways.reduce((sum, { lines }) => sum + costOf(lines), 0);
      const { calls, total } = await readLedgerDatabase(server, settings);
      expect(await most).to.be.within(500_000 - reservedForTestCall, 500_000);
      expect(spent)
        .to.equal(total.cost)
        .and.be.within(500_000 - reservedForTestCall, 500_000);
      expect(calls.length).to.equal(total.calls);
      expect(
        new Set(gateways.flatMap(({ lines }) => lines.filter((line) => line.startsWith('refused')))),
      ).to.deep.equal(new Set(['refused insufficient_quota']));
      for (const { used, reserved } of await balances()) expect([used, reserved]).to.deep.equal([spent, 0]);
    });
  }

  it('count what a killed one left under way at what was reserved, and leave what others have under way', async () => {
    const steady = open();
    const held = await steady.reserve(token, testCall);
    const seen = { cost: 0, begun: 0 };
    for (const enough of [20, 77, 150]) {
      const gateways = Array.from({ length: 2 }, () => start('spend'));
      await until('some calls', () => gateways.every(({ lines }) => lines.length >= enough));
      for (const { child } of gateways) child.kill('SIGKILL');
      await Promise.all(gateways.map(({ ended }) => ended));
      seen.cost += gateways.reduce((sum, { lines }) => sum + costOf(lines), 0);
      seen.begun += gateways.flatMap(({ lines }) => lines).filter((line) => line === 'begun').length;
      const next = open({ lookMs: 200 });
      await until('the settlement', async () =>
        (await readLedgerDatabase(server, settings)).calls.every(
          (call, _, all) =>
            call.state !== 'under_way' || all.filter(({ state }) => state === 'under_way').length === 1,
        ),
      );
      await next.close();
    }
    const { calls, total } = await readLedgerDatabase(server, settings);
    const cutOff = calls.filter(({ state }) => state === 'unsettled');
    expect(cutOff.length).to.be.greaterThan(0);
    expect(cutOff.every(({ cost }) => cost === reservedForTestCall)).to.equal(true);
    expect(total.unsettled).to.equal(cutOff.length);
    expect(total.calls).to.be.at.least(seen.begun);
    expect(total.cost).to.be.at.least(seen.cost);
    held.settle({ ...spentBy(10), upstream: 'first' });
    await steady.usage(everything);
    const after = await readLedgerDatabase(server, settings);
    expect(after.total.unsettled).to.equal(cutOff.length);
    expect(after.total.calls).to.equal(after.calls.length);
    const [day] = await balances();
    expect(day).to.include({ used: after.total.cost, reserved: 0 });
  });

  it('count a call whose gateway was killed between its reservation and the upstream', async () => {
    const { ended } = start('once', {}, { CORE_CRASH_AT: 'ledger.reserved' });
    expect((await ended)[1]).to.equal('SIGKILL');
    const next = open({ lookMs: 200 });
    await until('the settlement', async () => (await next.health()).detail.includes('1 cut off'));
    const [row] = await next.usage(everything);
    expect(row).to.include({ calls: 1, unsettled: 1, cost: reservedForTestCall / 1_000_000 });
  });

  it('take one that was paused past its lease for gone, and let it go on afterwards', async () => {
    const paused = start('hold-call');
    await until('the call', () => paused.lines.length > 0);
    paused.child.kill('SIGSTOP');
    await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
    const other = open(hasty);
    await until('the settlement', async () => (await other.health()).detail.includes('1 cut off'));
    paused.child.kill('SIGCONT');
    paused.child.kill('SIGUSR2');
    await paused.ended;
    const { calls, total } = await readLedgerDatabase(server, settings);
    expect(calls.map(({ state }) => state).toSorted()).to.deep.equal(['done', 'unsettled']);
    expect(total.cost).to.equal(reservedForTestCall + 2_200);
    expect(await balances()).to.deep.equal([
      { name: (await balances())[0]!.name, used: total.cost, reserved: 0 },
    ]);
  });

  it('count at what was reserved what ended in transactions that a fail-over lost', async () => {
    const pair = await startPostgresPair('asynchronous');
    try {
      const at = await pair.database();
      const ledger = open(hasty, null, at);
      const [lost, kept] = [await ledger.reserve(token, testCall), await ledger.reserve(token, testCall)];
      await until('the standby to have both', async () => {
        const [row] = await pair.ask<{ there: boolean }>(
          at,
          'SELECT replay_lsn >= pg_current_wal_lsn() AS there FROM pg_stat_replication',
        );
        return row?.there === true;
      });
      await pair.cutReplication();
      lost.settle({ ...spentBy(100), upstream: 'first' });
      await ledger.usage(everything);
      await pair.failOver();
      const states = async () => (await readLedgerDatabase(pair, at)).calls.map(({ state }) => state).sort();
      await until('the lost end', async () =>
        states().then(
          (ones) => ones.includes('unsettled'),
          () => false,
        ),
      );
      expect(await states()).to.deep.equal(['under_way', 'unsettled']);
      kept.settle({ ...spentBy(100), upstream: 'first' });
      await ledger.usage(everything);
      expect(await states()).to.deep.equal(['done', 'unsettled']);
      await Promise.allSettled(opened.splice(0).map((one) => one.close()));
    } finally {
      await pair.stop();
    }
  });

  it('refuse calls while the database is away, and lose none that was under way, though all leases ran out', async () => {
    const [one, two] = [open(hasty), open(hasty)];
    const held = [await one.reserve(token, testCall), await two.reserve(token, testCall)];
    await server.crash();
    const error = await refusal(() => one.reserve(token, testCall));
    expect([error.code, error.status]).to.deep.equal(['database_unavailable', 503]);
    expect(error.message).to.contain('so it is not made').and.contain('does not answer');
    expect((await one.health()).status).to.equal('failing');
    held[0]!.settle({ ...spentBy(10), upstream: 'first' });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await server.restart();
    await until('its return', async () => (await one.health()).status === 'ok');
    // Long enough for a gateway to be taken for gone, if it were.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    held[1]!.settle({ ...spentBy(10), upstream: 'first' });
    (await one.reserve(token, testCall)).settle({ ...spentBy(10), upstream: 'first' });
    await Promise.all([one.usage(everything), two.usage(everything)]);
    const { calls, total } = await readLedgerDatabase(server, settings);
    expect(calls.map(({ state }) => state)).to.deep.equal(['done', 'done', 'done']);
    expect(total).to.deep.equal({ calls: 3, unsettled: 0, cost: 3 * 2_100 });
  });

  it('go on when the server ends their connections, with every call counted once', async () => {
    const ledger = open();
    const { account } = await keyOf(ledger, null);
    const seen = { ended: 0, refused: new Set<string>() };
    const spending = Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let turn = 0; turn < 30; turn++) {
          try {
            const reservation = await ledger.reserve(account, testCall);
            seen.ended += reservation.settle({ ...spentBy(turn), upstream: 'first' }).cost;
          } catch (error) {
            seen.refused.add(codeOf(error));
          }
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }),
    );
    const kill =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'core-model-gateway' AND datname = current_database()";
    for (let round = 0; round < 10; round++) {
      await server.ask(settings, kill);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await spending;
    await ledger.usage(everything);
    await until('what was refused to be released', async () =>
      (await balances()).every(({ reserved }) => reserved === 0),
    );
    const { total } = await readLedgerDatabase(server, settings);
    expect(total.cost).to.equal(seen.ended);
    expect([...seen.refused].filter((code) => code !== 'database_unavailable')).to.deep.equal([]);
  });

  it('release what may have been reserved when the answer to a commit did not come', async () => {
    const proxy = await startCuttingProxy(settings);
    const ledger = open({}, null, proxy.settings);
    try {
      const { id, account } = await keyOf(ledger, 0.02);
      await (await ledger.reserve(account, testCall)).settle({ ...spentBy(0), upstream: 'first' });
      await ledger.usage(everything);
      proxy.cutAfter('COMMIT');
      const error = await refusal(() => ledger.reserve(account, testCall));
      expect(error.code).to.equal('database_unavailable');
      await until('the release', async () => (await balances()).every(({ reserved }) => reserved === 0));
      expect(await ledger.keys.get(id)).to.include({ used: 0.002, reserved: 0 });
      expect((await readLedgerDatabase(server, settings)).calls).to.have.length(1);
      await ledger.reserve(account, testCall);
      // An end whose commit was not answered is written again, and counts once.
      proxy.cutAfter('COMMIT');
      (await ledger.reserve(token, testCall).catch(() => ledger.reserve(token, testCall))).settle({
        ...spentBy(10),
        upstream: 'first',
      });
      await until(
        'the end on record',
        async () => (await readLedgerDatabase(server, settings)).total.calls === 2,
      );
    } finally {
      await proxy.close();
    }
  });

  it('make a key whose commit was not answered, and no other budget beside it', async () => {
    const proxy = await startCuttingProxy(settings);
    try {
      const ledger = open({}, null, proxy.settings);
      await keyOf(ledger, 0.01);
      proxy.cutAfter('COMMIT');
      const { account } = await keyOf(ledger, 0.02);
      (await ledger.reserve(account, testCall)).settle({ ...spentBy(0), upstream: 'first' });
      await ledger.usage(everything);
      proxy.cutBefore('COMMIT');
      const late = keyOf(ledger, 0.03);
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      await until('the key to be made again', async () => (await server.ask(settings, waiting)).length === 1);
      await proxy.sendLate();
      expect((await ledger.keys.get((await late).id)).budget).to.equal(0.03);
      expect(await ledger.keys.list()).to.have.length(3);
    } finally {
      await proxy.close();
    }
  });

  it('say that the disk is full, and go on when there is room', async () => {
    const ledger = open();
    const held = await ledger.reserve(token, testCall);
    await server.ask(
      settings,
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON gateway_balances EXECUTE FUNCTION full_disk()`,
    );
    const error = await refusal(() => ledger.reserve(token, testCall));
    expect([error.code, error.status]).to.deep.equal(['disk_full', 503]);
    expect(error.message).to.contain('No space left').and.contain('so it is not made');
    held.settle({ ...spentBy(10), upstream: 'first' });
    expect((await ledger.health()).status).to.equal('failing');
    await server.ask(settings, 'DROP TRIGGER full_disk ON gateway_balances');
    await until('its end', async () => (await ledger.health()).status === 'ok');
    const [row] = await ledger.usage(everything);
    expect(row).to.include({ calls: 1, cost: 0.0021 });
  });

  it('know a key of each other at once, and its end at the next call', async () => {
    const [one, two] = [open(), open()];
    const { key, id, account } = await keyOf(one, 1);
    await two.keys.lookUp(key);
    expect(two.keys.find(key)).to.deep.equal(account);
    const reservation = await two.reserve(account, testCall);
    await reservation.check();
    await one.keys.revoke(id);
    expect((await refusal(() => two.reserve(account, testCall))).code).to.equal('token_invalid');
    await until('the end of the key', async () => {
      await two.keys.lookUp(key);
      return two.keys.find(key) === null;
    });
    await until('the end of its call', async () =>
      reservation.check().then(
        () => false,
        (error) => codeOf(error) === 'token_invalid',
      ),
    );
  });
});
