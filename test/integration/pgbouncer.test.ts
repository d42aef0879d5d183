import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { Database } from '#kit/database/database.ts';
import { createFencedLeases } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { codeOf } from '#kit/errors.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { sampleRequest, turn } from '../contract/run-store.sample.ts';
import { failure } from '../fixtures/failure.ts';
import { type PgBouncer, startPgBouncer } from '../fixtures/pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';

/** Connections to the server, far fewer than there are clients: each transaction gets another one. */
const pool = 2;

describeWith(['pgbouncer', 'postgres'], 'the database behind PgBouncer in transaction mode', () => {
  let server: PostgresServer;
  let direct: PostgresSettings;
  let pgbouncer: PgBouncer;
  const closing: (() => Promise<void>)[] = [];

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  beforeEach(async () => {
    direct = await server.database();
    pgbouncer = await startPgBouncer(direct, pool);
  });

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    await pgbouncer.stop();
  });

  function open(change: Partial<PostgresSettings> = {}): Database {
    const database = openPostgres({ ...pgbouncer.settings, ...change }, 'core-test', {
      schema: agentdSchema,
    });
    closing.push(() => database.close());
    return database;
  }

  it('gets its tables once, from many who come at the same time', async () => {
    await Promise.all(Array.from({ length: 8 }, () => open().query('SELECT count(*) FROM leases')));
    const [row] = await server.ask<{ count: string }>(
      direct,
      "SELECT count(*) FROM core_migrations WHERE name = '0001_leases'",
    );
    expect(row?.count).to.equal('1');
  });

  it('ends a statement that takes longer than it may, and no statement of another on the same connection', async () => {
    const [hasty, patient] = [open({ statement_seconds: 1 }), open()];
    const sleeping = (database: Database, seconds: number) =>
      database.transaction((sql) => sql.query('SELECT pg_sleep($1)', [seconds]));
    await patient.query('SELECT 1');
    for (let round = 0; round < pool; round++)
      expect(codeOf(await failure(sleeping(hasty, 30)))).to.equal('database_unavailable');
    await Promise.all(Array.from({ length: pool }, () => patient.query('SELECT pg_sleep(1.5)')));
  });

  it('gives a lease to one of many, and fences out who lost it', async () => {
    const databases = Array.from({ length: 6 }, () => open());
    const all = databases.map((database) => createFencedLeases(database));
    for (const leases of all) closing.unshift(() => leases.close());
    const asked = await Promise.allSettled(all.map((leases) => leases.acquire('a')));
    const winner = asked.findIndex(({ status }) => status === 'fulfilled');
    expect(asked.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    const [one, two] = [all[winner]!, all[(winner + 1) % all.length]!];
    await databases[winner]!.transaction((sql) => one.fence(sql, 'a'));
    await server.ask(direct, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
    await two.acquire('a');
    const fenced = databases[winner]!.transaction((sql) => one.fence(sql, 'a'));
    expect(codeOf(await failure(fenced))).to.equal('lease_lost');
  });

  it('keeps the events of runs that several hosts append to at once in one order', async () => {
    const hosts = Array.from({ length: 4 }, () => {
      const stateDir = join(temporaryFolder(), 'state');
      mkdirSync(stateDir);
      const store = new DatabaseRunStore({
        stateDir,
        database: openPostgres(pgbouncer.settings, 'core-test', { schema: agentdSchema }),
      });
      closing.push(() => store.close());
      return store;
    });
    const runs = await Promise.all([1, 2].map((number) => hosts[0]!.create(sampleRequest({ number }))));
    for (const { run_id } of runs)
      await Promise.all(
        hosts.flatMap((host, index) =>
          Array.from({ length: 5 }, (_, more) => host.append(run_id, () => [turn(`${5 * index + more}`)])),
        ),
      );
    for (const [index, { run_id }] of runs.entries()) {
      const events = await hosts[3 - index]!.events(run_id);
      expect(events.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 21 }, (_, seq) => seq + 1));
      const { problems } = await hosts[index]!.verify(run_id);
      expect(problems.filter(({ where }) => !where.startsWith('run_artifacts/'))).to.deep.equal([]);
    }
  });
});
