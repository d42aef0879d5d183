import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { Database } from '#kit/database/database.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { measureHttp } from '#kit/http/metrics.ts';
import { Registry } from '#kit/prometheus.ts';
import { failure } from '../fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { freePort } from '../support/free-port.ts';

describeWith(['postgres'], 'the measurements of the database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let database: Database;
  const metrics = measureHttp('core-test', new Registry());

  before(async () => {
    server = await startPostgres();
    settings = await server.database();
  });
  after(() => server.stop());

  beforeEach(() => {
    database = openPostgres({ ...settings, connections: 2 }, 'core-test', { pool: 'test' });
  });
  afterEach(() => database.close());

  /** The value of a series of this pool; 0 where there is none. */
  async function seriesValue(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const wanted = Object.entries({ service: 'core-test', pool: 'test', ...labels });
    const { bytes } = await metrics.read();
    const line = bytes
      .split('\n')
      .find((text) => text.startsWith(`${name}{`) && wanted.every(([k, v]) => text.includes(`${k}="${v}"`)));
    return line === undefined ? 0 : Number(line.split(' ').at(-1));
  }

  it('count how long queries and transactions took, and what became of them', async () => {
    await database.query('SELECT 1');
    const before = await seriesValue('database_seconds_sum', { operation: 'query', outcome: 'done' });
    await database.query('SELECT pg_sleep(0.2)');
    const after = await seriesValue('database_seconds_sum', { operation: 'query', outcome: 'done' });
    expect(after - before).to.be.within(0.2, 5);
    await database.transaction((sql) => sql.query('SELECT 1'));
    expect(
      await seriesValue('database_seconds_count', { operation: 'transaction', outcome: 'done' }),
    ).to.equal(1);
    await failure(database.transaction(() => Promise.reject(new Error('the caller gives up'))));
    const rolledBack = { operation: 'transaction', outcome: 'rolled_back' };
    expect(await seriesValue('database_seconds_count', rolledBack)).to.equal(1);
    await failure(database.query('SELECT nothing'));
    expect(
      await seriesValue('database_seconds_count', { operation: 'query', outcome: 'rolled_back' }),
    ).to.equal(1);
    expect(await seriesValue('database_seconds_count', { outcome: 'failed' })).to.equal(0);
  });

  it('count what a database did not do that is not there, or took too long', async () => {
    const away = new URL(settings.url);
    away.port = String(await freePort());
    const nobody = openPostgres({ ...settings, url: away.href }, 'core-test', { pool: 'test' });
    await failure(nobody.query('SELECT 1'));
    await failure(nobody.transaction((sql) => sql.query('SELECT 1')));
    await nobody.close();
    const hasty = openPostgres({ ...settings, statement_seconds: 1 }, 'core-test', { pool: 'test' });
    await failure(hasty.transaction((sql) => sql.query('SELECT pg_sleep(5)')));
    await hasty.close();
    expect(await seriesValue('database_seconds_count', { operation: 'query', outcome: 'failed' })).to.equal(
      1,
    );
    const failed = { operation: 'transaction', outcome: 'failed' };
    expect(await seriesValue('database_seconds_count', failed)).to.equal(2);
  });

  it('show connections in use and idle, and who waits for one', async () => {
    await database.query('SELECT 1');
    expect(await seriesValue('database_connections_max')).to.equal(2);
    expect(await seriesValue('database_connections', { state: 'idle' })).to.equal(1);
    const working = Array.from({ length: 5 }, () => database.query('SELECT pg_sleep(1)'));
    await until('three that wait', async () => (await seriesValue('database_waiting')) === 3);
    expect(await seriesValue('database_connections', { state: 'used' })).to.equal(2);
    await Promise.all(working);
    expect(await seriesValue('database_waiting')).to.equal(0);
    expect(await seriesValue('database_connections', { state: 'used' })).to.equal(0);
  });

  it('show whether notifications arrive, while anything is followed', async () => {
    const notified = async () => (await metrics.read()).bytes.match(/^database_notified\{.*\} (\d)$/m)?.[1];
    expect(await notified()).to.equal(undefined);
    const end = database.signals.watch(null, () => {});
    await until('notifications', async () => (await notified()) === '1');
    await server.ask(
      settings,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()",
    );
    await until('the loss', async () => (await notified()) === '0');
    end();
    expect(await notified()).to.equal(undefined);
  });
});
