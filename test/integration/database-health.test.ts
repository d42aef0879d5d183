import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { runsCheck } from '../../services/agentd/http/health-checks.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { startGateway } from '../fixtures/model-upstream/gateway.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

describeWith(['postgres'], 'the health of a service whose database is busy', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());
  beforeEach(async () => {
    settings = await server.database();
  });

  /** Nobody else reads or writes the table until it is given back. */
  async function hold(table: string): Promise<() => Promise<void>> {
    const database = openPostgres(settings, 'core-test', { schema: agentdSchema });
    const locked = Promise.withResolvers<void>();
    const free = Promise.withResolvers<void>();
    const holding = database.transaction(async (sql) => {
      await sql.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    return async () => {
      free.resolve();
      await holding;
      await database.close();
    };
  }

  it('of core-agentd says in a second that it is awaited, fails after its limit, and is well again', async () => {
    const store = new DatabaseRunStore({
      stateDir: temporaryFolder(),
      database: openPostgres(settings, 'core-agentd', { schema: agentdSchema }),
    });
    const check = runsCheck({ recordedRuns: (query) => store.list(query) }, 5_000);
    await until('its first answer', async () => (await check()).detail === 'readable');
    const release = await hold('runs');
    const began = performance.now();
    expect((await check()).status).to.equal('degraded');
    await until('its end', async () => (await check()).status === 'failing');
    expect(performance.now() - began).to.be.greaterThan(4_900);
    expect((await check()).detail).to.contain('did not answer within 5 s');
    await release();
    await until('its return', async () => (await check()).status === 'ok');
    await store.close();
  });

  it('of core-model-gateway is degraded while it waits for its ledger, and fails after ten seconds', async () => {
    const gateway = await startGateway({ models: {} }, {}, undefined, {
      storage: { kind: 'postgres', ...settings },
    });
    const statusOf = async () => (await gateway.ask('/healthz', { token: null })).status;
    await until('a gateway that is well', async () => (await statusOf()) === 200);
    const release = await hold('gateway_balances');
    const began = performance.now();
    // An answer counts for a second.
    await until('an answer that is awaited', async () => {
      const busy = await gateway.ask('/healthz', { token: null });
      return busy.status === 200 && (await busy.text()).includes('no answer yet');
    });
    await until('its end', async () => (await statusOf()) === 503);
    expect(performance.now() - began).to.be.within(9_000, 110_000);
    await release();
    await until('its return', async () => (await statusOf()) === 200);
    await gateway.stop();
  });
});
