import { join } from 'node:path';
import { expect } from 'chai';
import type { Database } from '#kit/database/database.ts';
import { openSqlite } from '#kit/database/sqlite.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { BridgeStorage } from '../bridge-storage.ts';
import { bridgeSchema } from '../schema.ts';
import { removalOf } from './pruning.ts';

const day = 24 * 60 * 60 * 1000;
const now = 1_000 * day;

describe('Old events', () => {
  let database: Database;
  let storage: BridgeStorage;
  beforeEach(() => {
    database = openSqlite(join(temporaryFolder(), bridgeSchema.file), bridgeSchema, { now: () => now });
    storage = new BridgeStorage(database);
  });
  afterEach(() => storage.close());

  async function insert(id: string, state: string, daysAgo: number): Promise<void> {
    await database.write(
      `INSERT INTO bridge_events (event_id, source, body_sha256, facts, state, taken_up_by_sync, received_at, changed_at)
       VALUES ($1, 'dashboard', $1, '{}', $2, 0, $3, $3)`,
      [id, state, now - daysAgo * day],
    );
  }

  async function deliver(run: string, state: string, daysAgo: number): Promise<void> {
    await database.write(
      `INSERT INTO bridge_deliveries (dashboard, run_id, status, body, run_updated_at, state, due_at, created_at, changed_at)
       VALUES ('board', $1, 'planned', '{}', '', $2, 0, $3, $3)`,
      [run, state, now - daysAgo * day],
    );
  }

  function pruned({ days = 90, dead_days = 365, reported = 30 } = {}): Promise<number> {
    const sync = { seconds: 60, days: reported, attempts: 10, dashboards: [] };
    return storage.prune(removalOf({ retention: { days, dead_days }, sync }));
  }

  async function left(table: string, column: string): Promise<unknown[]> {
    const rows = await database.query<{ id: unknown }>(`SELECT ${column} AS id FROM ${table} ORDER BY seq`);
    return rows.map(({ id }) => id);
  }

  it('go when they ended long ago, dead ones later', async () => {
    for (const state of ['done', 'skipped', 'dead', 'pending', 'processing']) {
      await insert(`${state} young`, state, 89);
      await insert(`${state} old`, state, 91);
      await insert(`${state} ancient`, state, 400);
    }
    expect(await pruned()).to.equal(5);
    expect(await left('bridge_events', 'event_id')).to.deep.equal([
      'done young',
      'skipped young',
      'dead young',
      'dead old',
      ...['pending young', 'pending old', 'pending ancient'],
      ...['processing young', 'processing old', 'processing ancient'],
    ]);
  });

  it('stay as long as their runs are reported to dashboards', async () => {
    await insert('e1', 'done', 100);
    await deliver('run_1', 'done', 100);
    expect(await pruned({ reported: 200 })).to.equal(0);
    expect(await pruned({ reported: 30 })).to.equal(2);
  });

  it('leave deliveries that still wait', async () => {
    await deliver('run_1', 'pending', 500);
    await deliver('run_2', 'dead', 500);
    await pruned();
    expect(await left('bridge_deliveries', 'run_id')).to.deep.equal(['run_1']);
  });
});
