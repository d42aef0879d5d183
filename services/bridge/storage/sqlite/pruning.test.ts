import { expect } from 'chai';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { removalOf } from '../../queue/pruning.ts';
import { type BridgeDatabase, openBridgeDatabase, prune } from './database.ts';

const day = 24 * 60 * 60 * 1000;
const now = 1_000 * day;

describe('Old events', () => {
  let database: BridgeDatabase;
  beforeEach(() => {
    database = openBridgeDatabase(temporaryFolder());
  });
  afterEach(() => database.close());

  function insert(id: string, state: string, daysAgo: number): void {
    const at = now - daysAgo * day;
    database.db
      .prepare(
        `INSERT INTO events (event_id, source, body_sha256, facts, state, received_at, changed_at)
         VALUES (?, 'dashboard', ?, '{}', ?, ?, ?)`,
      )
      .run(id, id, state, at, at);
  }

  function deliver(run: string, state: string, daysAgo: number): void {
    database.db
      .prepare(
        `INSERT INTO deliveries (dashboard, run_id, status, body, state, due_at, changed_at)
         VALUES ('board', ?, 'planned', '{}', ?, 0, ?)`,
      )
      .run(run, state, now - daysAgo * day);
  }

  function pruned({ days = 90, dead_days = 365, reported = 30 } = {}): number {
    const sync = { seconds: 60, days: reported, attempts: 10, dashboards: [] };
    return prune(database.db, removalOf({ retention: { days, dead_days }, sync }), now);
  }

  function left(table: string, column: string): unknown[] {
    const rows = database.db.prepare(`SELECT ${column} AS id FROM ${table} ORDER BY seq`).all();
    return rows.map((row) => (row as { id: unknown }).id);
  }

  it('go when they ended long ago, dead ones later', () => {
    for (const state of ['done', 'skipped', 'dead', 'pending', 'processing']) {
      insert(`${state} young`, state, 89);
      insert(`${state} old`, state, 91);
      insert(`${state} ancient`, state, 400);
    }
    expect(pruned()).to.equal(5);
    expect(left('events', 'event_id')).to.deep.equal([
      'done young',
      'skipped young',
      'dead young',
      'dead old',
      ...['pending young', 'pending old', 'pending ancient'],
      ...['processing young', 'processing old', 'processing ancient'],
    ]);
  });

  it('stay as long as their runs are reported to dashboards', () => {
    insert('e1', 'done', 100);
    deliver('run_1', 'done', 100);
    expect(pruned({ reported: 200 })).to.equal(0);
    expect(pruned({ reported: 30 })).to.equal(2);
  });

  it('leave deliveries that still wait', () => {
    deliver('run_1', 'pending', 500);
    deliver('run_2', 'dead', 500);
    pruned();
    expect(left('deliveries', 'run_id')).to.deep.equal(['run_1']);
  });

  it('are found by an index', () => {
    const sql = `SELECT seq FROM events INDEXED BY events_ended
      WHERE state IN ('done', 'skipped', 'dead') AND changed_at < 5 AND (state <> 'dead' OR changed_at < 3) LIMIT 5`;
    const plan = database.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
    expect(plan.map(({ detail }) => detail).join()).to.match(
      /SEARCH events USING .*events_ended \(changed_at/,
    );
  });
});
