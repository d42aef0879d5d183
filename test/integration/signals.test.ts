import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { Database } from '#kit/database/database.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { SignalTimes } from '#kit/database/postgres-signals.ts';
import { startPgBouncer } from '../fixtures/pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

/** Nothing is found by looking while signals arrive. */
const byWord: SignalTimes = { pollMs: 100, slowPollMs: 3_600_000 };

describeWith(['postgres'], 'signals of a database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let warnings: string[];
  const open = new Set<Database>();

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  beforeEach(async () => {
    settings = await server.database();
    warnings = [];
  });

  afterEach(async () => {
    for (const database of open) await database.close();
    open.clear();
  });

  function host(times: SignalTimes = byWord, at: PostgresSettings = settings): Database {
    const warn = (message: string) => void warnings.push(message);
    const database = openPostgres(at, 'core-test', { warn, signalTimes: times });
    open.add(database);
    return database;
  }

  function counted({ signals }: Database, name: string | null): { looks: number } {
    const seen = { looks: 0 };
    signals.watch(name, () => seen.looks++);
    return seen;
  }

  const arrival = ({ signals }: Database) => until('signals', async () => signals.arrive);

  const endListener = () =>
    server.ask(
      settings,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    );

  it('reach who watches the thing, or all things, on another host, and nobody else', async () => {
    const [one, two] = [host(), host()];
    const [seen, other, any] = [counted(two, 'run_a'), counted(two, 'run_b'), counted(two, null)];
    await arrival(two);
    const before = { seen: seen.looks, other: other.looks, any: any.looks };
    one.signals.notify('run_a');
    await until('the signal', async () => seen.looks > before.seen && any.looks > before.any);
    expect(other.looks).to.equal(before.other);
  });

  it('are sent together while one is under way, and as one for all where they are too many', async () => {
    const [one, two] = [host(), host()];
    const [last, any] = [counted(two, 'run_4999'), counted(two, null)];
    await arrival(two);
    const before = { last: last.looks, any: any.looks };
    for (let number = 0; number < 5_000; number++) one.signals.notify(`run_${number}`);
    await until('the last', async () => last.looks > before.last);
    expect(any.looks - before.any).to.be.within(1, 3);
  });

  it('arrive again after the connection that listens was ended, and all is looked at then', async () => {
    const [one, two] = [host(), host()];
    const seen = counted(two, 'run_a');
    await arrival(two);
    const before = seen.looks;
    await endListener();
    await until('the loss', async () => seen.looks > before || !two.signals.arrive);
    await arrival(two);
    await until('a look at all', async () => seen.looks > before);
    const after = seen.looks;
    one.signals.notify('run_a');
    await until('the signal', async () => seen.looks > after);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('no signals arrive from postgres://').and.contain('every 100 ms');
  });

  it('that are lost are made up for by a look', async () => {
    const two = host({ pollMs: 100, slowPollMs: 300 });
    const seen = counted(two, 'run_a');
    await arrival(two);
    const before = seen.looks;
    await until('a look without a signal', async () => seen.looks > before);
    expect(two.signals.arrive).to.equal(true);
  });

  it('sent last before a process ends are sent', async () => {
    const [one, two] = [host(), host()];
    const seen = counted(two, 'run_b');
    await arrival(two);
    const before = seen.looks;
    one.signals.notify('run_a');
    one.signals.notify('run_b');
    await one.close();
    open.delete(one);
    await until('the last signal', async () => seen.looks > before);
  });

  it('leave no connection open after the end', async () => {
    const one = host();
    counted(one, null);
    await arrival(one);
    await one.close();
    open.delete(one);
    await until('no connection', async () => {
      const [row] = await server.ask<{ count: string }>(
        settings,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'core-test'",
      );
      return row?.count === '0';
    });
  });

  it('are not waited for by a daemon that has 20 watchers and nothing to do', async () => {
    const two = host();
    const all = Array.from({ length: 20 }, (_, index) => counted(two, `run_${index}`));
    await arrival(two);
    await until('the look at the beginning', async () => all.every(({ looks }) => looks > 0));
    const before = all.map(({ looks }) => looks);
    await host().query('SELECT pg_sleep(1)');
    expect(all.map(({ looks }) => looks)).to.deep.equal(before);
  });

  describeWith(['pgbouncer'], 'through PgBouncer in transaction mode', () => {
    for (const connections of [1, 4])
      it(`are known not to arrive, with ${connections} connections to the server: the poll goes on, and it is said once`, async () => {
        const pgbouncer = await startPgBouncer(settings, connections);
        try {
          const two = host(byWord, pgbouncer.settings);
          const seen = counted(two, 'run_a');
          await until('the warning', async () => warnings.length > 0);
          expect(warnings[0]).to.contain('PgBouncer');
          expect(two.signals.arrive).to.equal(false);
          const before = seen.looks;
          await until('looks', async () => seen.looks > before + 2);
          expect(warnings).to.have.length(1);
        } finally {
          for (const database of open) await database.close();
          open.clear();
          await pgbouncer.stop();
        }
      });
  });

  it('arrive again from a server that went away and came back', async () => {
    const [one, two] = [host(), host()];
    const seen = counted(two, 'run_a');
    await arrival(two);
    await server.crash();
    await until('the loss', async () => !two.signals.arrive);
    await server.restart();
    await until('signals', async () => two.signals.arrive);
    const before = seen.looks;
    one.signals.notify('run_a');
    await until('the signal', async () => seen.looks > before);
  });
});
