import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { Database } from '#kit/database/database.ts';
import { createFencedLeases, type FencedLeases } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { codeOf } from '#kit/errors.ts';
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { failure } from '../fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

describeWith(['postgres'], 'the database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let opened: Database[];

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  beforeEach(async () => {
    settings = await server.database();
    opened = [];
  });

  afterEach(() => Promise.all(opened.map((database) => database.close())));

  function open(change: Partial<PostgresSettings> = {}): Database {
    const database = openPostgres({ ...settings, ...change }, 'core-test');
    opened.push(database);
    return database;
  }

  it('makes its tables once, whoever comes first', async () => {
    const rows = await Promise.all(
      Array.from({ length: 8 }, () => open().query<{ count: string }>('SELECT count(*) FROM leases')),
    );
    expect(rows.flat().map(({ count }) => count)).to.deep.equal(Array(8).fill(0));
    const [{ count } = { count: '' }] = await server.ask<{ count: string }>(
      settings,
      "SELECT count(*) FROM core_migrations WHERE name = '0001_leases'",
    );
    expect(count).to.equal('1');
  });

  it('runs beside a newer Core, but not after one that took something away', async () => {
    await open().query('SELECT 1');
    const add = (name: string) =>
      server.ask(settings, 'INSERT INTO core_migrations (name) VALUES ($1)', [name]);
    await add('9998_more');
    await open().query('SELECT 1');
    await add('9999_contract_less');
    const error = await failure(open().query('SELECT 1'));
    expect(codeOf(error)).to.equal('database_newer');
    expect(String(error)).to.contain('9999_contract_less').and.contain(settings.url);
  });

  it('does all of a transaction or nothing, and repeats one that the server could not order', async () => {
    const [one, two] = [open(), open()];
    await one.query('CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)');
    await one.query('INSERT INTO t VALUES (1, 0), (2, 0)');
    const refused = new Error('refused');
    const work = one.transaction(async (sql) => {
      await sql.query('UPDATE t SET n = 9');
      throw refused;
    });
    expect(await failure(work)).to.equal(refused);
    // Each takes the rows in the other's order: the server ends one of them.
    let met = 0;
    const both = async (database: Database, ids: readonly number[]) =>
      database.transaction(async (sql) => {
        for (const id of ids) {
          await sql.query('UPDATE t SET n = n + 1 WHERE id = $1', [id]);
          met += 1;
          if (met <= 2) await until('the other', () => met >= 2);
        }
      });
    await Promise.all([both(one, [1, 2]), both(two, [2, 1])]);
    expect(await one.query('SELECT n FROM t ORDER BY id')).to.deep.equal([{ n: 2 }, { n: 2 }]);
  });

  it('says what is wrong with the address, the user, the password file and the certificate', async () => {
    const url = new URL(settings.url);
    const changed = (change: (url: URL) => void): string => {
      const copy = new URL(url);
      change(copy);
      return copy.href;
    };
    const cases: [Partial<PostgresSettings>, string, string][] = [
      [{ url: changed((to) => (to.port = '1')) }, 'database_unavailable', 'does not answer'],
      [{ url: changed((to) => (to.pathname = '/nowhere')) }, 'database_refused', 'nowhere'],
      [{ url: changed((to) => (to.hostname = '0.0.0.0')) }, 'database_not_trusted', 'SSL'],
      [{ password_file: null }, 'database_refused', 'password'],
      [{ password_file: '/nowhere/password' }, 'database_password_unreadable', '/nowhere/password'],
    ];
    for (const [change, code, text] of cases) {
      const error = await failure(open(change).query('SELECT 1'));
      expect([codeOf(error), String(error)].join(' '))
        .to.contain(code)
        .and.contain(text);
    }
  });

  it('goes on by itself after the server ended all its connections', async () => {
    const database = open();
    await database.query('CREATE TABLE t (n int)');
    const end =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    const broken = database.transaction(async (sql) => {
      await sql.query('INSERT INTO t VALUES (1)');
      await server.ask(settings, end);
      await sql.query('INSERT INTO t VALUES (2)');
    });
    expect(codeOf(await failure(broken))).to.equal('database_unavailable');
    expect(await database.query('SELECT * FROM t')).to.deep.equal([]);
  });

  it('ends a statement that takes longer than it may', async () => {
    const slow = open({ statement_seconds: 1 }).transaction((sql) => sql.query('SELECT pg_sleep(30)'));
    expect(codeOf(await failure(slow))).to.equal('database_unavailable');
  });
});

describeWith(['postgres'], 'leases in the database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let all: FencedLeases[];
  let opened: Database[];

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  beforeEach(async () => {
    settings = await server.database();
    all = [];
    opened = [];
  });

  afterEach(async () => {
    await Promise.all(all.map((leases) => leases.close()));
    await Promise.all(opened.map((database) => database.close()));
  });

  function open(url = settings.url): Database {
    const database = openPostgres({ ...settings, url }, 'core-test');
    opened.push(database);
    return database;
  }

  function leasesOf(database: Database, durationMs = 30_000): FencedLeases {
    const leases = createFencedLeases(database, { durationMs });
    all.push(leases);
    return leases;
  }

  it('are exclusive, free again after the release, with a higher number each time', async () => {
    const [one, two] = [leasesOf(open()), leasesOf(open())];
    const first = await one.acquire('a');
    await two.acquire('b');
    const error = await failure(two.acquire('a'));
    expect(codeOf(error)).to.equal('lease_held');
    expect(String(error)).to.contain(`process ${process.pid}`);
    expect(codeOf(await failure(one.acquire('a')))).to.equal('lease_held');
    await first.release();
    const second = await two.acquire('a');
    expect(second.fencing > first.fencing).to.equal(true);
    await first.release();
    expect(codeOf(await failure(one.acquire('a')))).to.equal('lease_held');
  });

  it('are given to one of many who ask at once', async () => {
    const askers = Array.from({ length: 8 }, () => leasesOf(open()));
    const answers = await Promise.allSettled(askers.map((leases) => leases.acquire('a')));
    expect(answers.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
  });

  it('are taken again by who took them, or gave them back, without an answer', async () => {
    const proxy = await startCuttingProxy(settings);
    const [one, two] = [leasesOf(open(proxy.settings.url)), leasesOf(open())];
    await (await one.acquire('other')).release();
    proxy.cutAfter('INSERT INTO leases');
    expect(codeOf(await failure(one.acquire('a')))).to.equal('database_unavailable');
    expect(codeOf(await failure(two.acquire('a')))).to.equal('lease_held');
    const [first, again] = await Promise.allSettled([one.acquire('a'), one.acquire('a')]);
    expect([first.status, again.status]).to.have.members(['fulfilled', 'rejected']);
    proxy.cutBefore("UPDATE leases SET token = ''");
    const lease = [first, again].find((each) => each.status === 'fulfilled')!.value;
    await lease.release();
    const next = await one.acquire('a');
    expect(Number(next.fencing)).to.be.greaterThan(Number(lease.fencing));
    await proxy.sendLate();
    await next.permit();
    await next.release();
    await two.acquire('a');
    await proxy.close();
  });

  it('outlive their time while they are renewed, and are taken over when nobody renews them', async () => {
    const database = open();
    const held = await leasesOf(database, 600).acquire('a');
    const two = leasesOf(open(), 600);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(held.lost.aborted).to.equal(false);
    expect(codeOf(await failure(two.acquire('a')))).to.equal('lease_held');
    await server.ask(
      settings,
      'UPDATE leases SET expires_at = core_clock_ms() - 1000, token = gen_random_uuid()::text',
    );
    await two.acquire('a');
    await until('the loss', () => held.lost.aborted);
    expect(codeOf(held.lost.reason)).to.equal('lease_lost');
  });

  it('of a process of this machine that ended are free at once', async () => {
    const leases = leasesOf(open());
    await (await leases.acquire('a')).release();
    await leases.close();
    const two = leasesOf(open());
    await two.acquire('a');
    await server.ask(settings, "UPDATE leases SET pid = 4194303, process_started = '1'");
    await leasesOf(open()).acquire('a');
  });

  it('let nobody write under them who lost them, until they are released', async () => {
    const [database, other] = [open(), open()];
    const one = leasesOf(database);
    const lease = await one.acquire('a');
    await database.transaction((sql) => one.fence(sql, 'a'));
    await database.transaction((sql) => one.fence(sql, 'never taken'));
    await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
    // Nobody took it: it is still theirs.
    await database.transaction((sql) => one.fence(sql, 'a'));
    await leasesOf(other).acquire('a');
    expect(codeOf(await failure(database.transaction((sql) => one.fence(sql, 'a'))))).to.equal('lease_lost');
    expect(lease.lost.aborted).to.equal(true);
    expect(codeOf(await failure(database.transaction((sql) => one.fence(sql, 'a'))))).to.equal('lease_lost');
    await lease.release();
    await database.transaction((sql) => one.fence(sql, 'a'));
  });

  it('let nobody write under them who could not renew them in time, though nobody else took them', async () => {
    const database = open();
    let away = false;
    const leases = createFencedLeases(
      {
        ...database,
        write: (...asked) => (away ? Promise.reject(new Error('away')) : database.write(...asked)),
      },
      { durationMs: 600 },
    );
    all.push(leases);
    const lease = await leases.acquire('a');
    away = true;
    await until('the loss', () => lease.lost.aborted);
    away = false;
    expect(codeOf(await failure(database.transaction((sql) => leases.fence(sql, 'a'))))).to.equal(
      'lease_lost',
    );
    await lease.release();
    await database.transaction((sql) => leases.fence(sql, 'a'));
  });

  it('cannot be taken over between a fenced write and its end', async () => {
    const [database, other] = [open(), open()];
    const one = leasesOf(database);
    await one.acquire('a');
    await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
    const order: string[] = [];
    let taken: Promise<unknown> = Promise.resolve();
    await database.transaction(async (sql) => {
      await one.fence(sql, 'a');
      taken = leasesOf(other)
        .acquire('a')
        .then(() => order.push('taken'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      order.push('written');
    });
    await taken;
    expect(order).to.deep.equal(['written', 'taken']);
  });
});
