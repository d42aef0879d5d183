import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { changeNumber } from '#kit/database/change-numbers.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { changesSince } from '../../services/agentd/runs/rows/run-changes.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { planned, sampleRequest, turn } from '../contract/run-store.sample.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';

describeWith(['postgres'], 'changes of runs in PostgreSQL', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let store: DatabaseRunStore;

  beforeEach(async () => {
    server = await startPostgres(['log_min_messages=fatal']);
    settings = await server.database();
    store = new DatabaseRunStore({
      stateDir: temporaryFolder(),
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
    });
  });

  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  /** Changes one run like an append, in a transaction that stays open. */
  async function heldOpen(runId: string): Promise<{ commit(): Promise<void> }> {
    const url = new URL(settings.url);
    url.password = readFileSync(settings.password_file!, 'utf8');
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    await client.query('BEGIN');
    await client.query(
      `UPDATE runs SET size = size + 1, changed_in = ${changeNumber({ engine: 'postgres' }, 'runs')} WHERE run_id = $1`,
      [runId],
    );
    return {
      async commit() {
        await client.query('COMMIT');
        await client.end();
      },
    };
  }

  it('are all of them first, and then those since the position', async () => {
    const one = await store.create(sampleRequest());
    const other = await store.create(sampleRequest());
    const first = await store.changes(null);
    expect(first.all).to.equal(true);
    expect([...first.sizes.keys()].sort()).to.deep.equal([one.run_id, other.run_id].sort());
    const none = await store.changes(first.position);
    expect([none.all, none.sizes.size]).to.deep.equal([false, 0]);
    await store.append(one.run_id, () => planned(one.run_id));
    const { sizes } = await store.changes(none.position);
    expect([...sizes]).to.deep.equal([[one.run_id, await store.logSize(one.run_id)]]);
  });

  it('are not missed where a later one commits first', async () => {
    const slow = await store.create(sampleRequest());
    const fast = await store.create(sampleRequest());
    let { position } = await store.changes(null);
    const open = await heldOpen(slow.run_id);
    await store.append(fast.run_id, () => [turn()]);
    const before = await store.changes(position);
    expect([...before.sizes.keys()]).to.deep.equal([fast.run_id]);
    ({ position } = before);
    await open.commit();
    const after = await store.changes(position);
    expect([...after.sizes.keys()]).to.include(slow.run_id);
    expect((await store.changes(after.position)).sizes.size).to.equal(0);
  });

  it('are all of them again after the server was restored from a crash', async () => {
    const { run_id } = await store.create(sampleRequest());
    const { position } = await store.changes(null);
    await server.crash();
    await server.restart();
    const again = await store.changes(position).catch(() => store.changes(position));
    expect([again.all, [...again.sizes.keys()]]).to.deep.equal([true, [run_id]]);
  });

  it('are all of them again after a process of the server was killed', async () => {
    const { run_id } = await store.create(sampleRequest());
    const { position } = await store.changes(null);
    const [backend] = await server.ask<{ pid: number }>(
      settings,
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'core-test'",
    );
    process.kill(backend!.pid, 'SIGKILL');
    const asked = async (tries: number): Promise<Awaited<ReturnType<typeof store.changes>>> => {
      try {
        const changes = await store.changes(position);
        // Its other processes go on until the server has noticed.
        if (changes.all || tries === 0) return changes;
      } catch (error) {
        if (tries === 0) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
      return asked(tries - 1);
    };
    const again = await asked(100);
    expect([again.all, [...again.sizes.keys()]]).to.deep.equal([true, [run_id]]);
  });

  it('are read by their index, however many runs there are', async () => {
    const { run_id } = await store.create(sampleRequest());
    await server.ask(
      settings,
      `INSERT INTO runs (run_id, changed_at, changed_in, seq, hash, type, size, status, forge, owner, repo, role, created_at, updated_at,
          waiting, actions, asked_by, decided_by, words)
        SELECT 'run_' || n, 0, 0, 1, '', '', 1, 'completed', 'local', 'demo', 'hello', 'depute', '', '', 0, 0, '', '', ''
        FROM generate_series(1, 20000) AS n`,
    );
    await server.ask(settings, 'VACUUM ANALYZE runs');
    const { position } = await store.changes(null);
    await store.append(run_id, () => [turn()]);
    const reads: number[] = [];
    const database = openPostgres(settings, 'core-test', { schema: agentdSchema });
    const { sizes } = await database.transaction((sql) =>
      changesSince(
        {
          engine: sql.engine,
          async query<R extends object>(text: string, values?: readonly unknown[]) {
            if (text.includes('changed_in')) {
              const rows = await sql.query<{ 'QUERY PLAN': string }>(
                `EXPLAIN (ANALYZE, BUFFERS, FORMAT TEXT) ${text}`,
                values,
              );
              const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
              expect(plan).to.contain('runs_by_change');
              reads.push(
                ...[...plan.matchAll(/shared hit=(\d+)/g)].slice(0, 1).map((match) => Number(match[1])),
              );
            }
            return sql.query<R>(text, values);
          },
        },
        position,
      ),
    );
    await database.close();
    expect([...sizes.keys()]).to.deep.equal([run_id]);
    expect(reads[0]).to.be.below(20);
  });
});
