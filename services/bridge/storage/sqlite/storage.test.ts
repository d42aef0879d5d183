import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { migrate } from '#kit/storage/database.ts';
import { eventOf, failure, sampleEvent } from '../../../../test/contract/bridge-queue.contract.ts';
import { queueConfig } from '../../../../test/fixtures/bridge/queue-config.ts';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { EventQueue } from '../../queue/event-queue.ts';
import { openBridgeDatabase, queueKind } from './database.ts';
import { openSqliteStorage } from './storage.ts';

describe('The queue of events in a file', () => {
  let state: string;
  let storage: ReturnType<typeof openSqliteStorage>;
  let queue: EventQueue;

  beforeEach(() => {
    state = temporaryFolder();
    open();
  });
  afterEach(() => storage.close());

  function open(): void {
    storage = openSqliteStorage(state);
    queue = new EventQueue(storage, queueConfig);
  }

  /** Of a file that an earlier version made. */
  async function reopenOf(version: number, fill: (db: DatabaseSync) => void): Promise<void> {
    await storage.close();
    const path = join(state, 'bridge/queue.sqlite');
    rmSync(path);
    const db = new DatabaseSync(path);
    migrate(db, queueKind, version);
    fill(db);
    db.close();
    open();
  }

  it('is on the disk before it is acknowledged', async () => {
    await queue.accept(sampleEvent);
    const other = new DatabaseSync(join(state, 'bridge/queue.sqlite'), { readOnly: true });
    expect(other.prepare('SELECT count(*) AS n FROM events').get()).to.deep.include({ n: 1 });
    other.close();
    expect(storage.database.db.prepare('PRAGMA synchronous').get()).to.deep.include({ synchronous: 2 });
  });

  it('knows the bytes of deliveries that the version before kept', async () => {
    const first = eventOf(1, { source: 'github', event_id: 'github:a', body_sha256: 'same' });
    await queue.accept(first);
    const { facts } = storage.database.db.prepare('SELECT facts FROM events').get() as { facts: string };
    await reopenOf(3, (db) =>
      db
        .prepare(
          `INSERT INTO events (event_id, source, body_sha256, facts, target, state, received_at, changed_at, due_at)
          VALUES ('github:a', 'github', 'same', ?, 'local/demo/hello#1', 'pending', 1, 1, 1)`,
        )
        .run(facts),
    );
    expect((await queue.accept({ ...first, event_id: 'github:b' })).event.event_id).to.equal('github:a');
    const plan = storage.database.db
      .prepare(
        "EXPLAIN QUERY PLAN SELECT * FROM events WHERE source = ? AND body_sha256 = ? AND source NOT IN ('dashboard', 'schedule')",
      )
      .all('github', 'same') as { detail: string }[];
    expect(plan.map(({ detail }) => detail).join()).to.contain('forge_bodies');
  });

  it('keeps the deliveries of the version before', async () => {
    await reopenOf(4, (db) =>
      db.exec(`
        INSERT INTO deliveries (dashboard, run_id, status, body, state, attempts, due_at, changed_at, problem) VALUES
          ('board', 'run_1', 'planned', '{}', 'delivered', 0, 5, 6, NULL),
          ('board', 'run_1', 'completed', '{}', 'waiting', 2, 7, 8, 'answered 500'),
          ('board', 'run_2', 'planned', '{}', 'dead', 3, 9, 10, 'answered 422')`),
    );
    const rows = storage.database.db
      .prepare('SELECT seq, status, state, attempts, due_at, changed_at, reason FROM deliveries')
      .all();
    expect(rows.map((row) => Object.values(row))).to.deep.equal([
      [1, 'planned', 'done', 0, null, 6, null],
      [2, 'completed', 'pending', 2, 7, 8, 'answered 500'],
      [3, 'planned', 'dead', 3, null, 10, 'answered 422'],
    ]);
  });

  it('has an event pending again when its taker is gone with its process', async () => {
    await queue.accept(sampleEvent);
    await queue.claim(3_600_000);
    await storage.close();
    open();
    expect(await queue.get('e1')).to.deep.include({ state: 'pending', attempts: 0 });
    expect((await queue.claim(1_000))?.event.event_id).to.equal('e1');
  });

  it('lists and claims by its indexes, however many events there are', () => {
    const plan = (sql: string) =>
      (storage.database.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
        .map(({ detail }) => detail)
        .join('; ');
    const pending = "SELECT * FROM events WHERE state = 'pending'";
    expect(plan(`${pending} AND seq > 5 ORDER BY seq LIMIT 10`))
      .to.contain('events_by_state')
      .and.not.contain('TEMP');
    const due = pending.replace('events', 'events INDEXED BY events_due');
    expect(plan(`${due} AND due_at <= 5 ORDER BY due_at, seq LIMIT 1`))
      .to.contain('events_due')
      .and.not.contain('TEMP');
  });

  it('names who holds it to a second process', async () => {
    expect(await failure(() => openBridgeDatabase(state))).to.equal('queue_held');
  });

  it('is not touched where a newer Core made it', async () => {
    const { user_version: present } = storage.database.db.prepare('PRAGMA user_version').get() as {
      user_version: number;
    };
    storage.database.db.exec('PRAGMA user_version = 99');
    await storage.close();
    expect(await failure(() => openBridgeDatabase(state))).to.equal('queue_newer');
    const db = new DatabaseSync(join(state, 'bridge/queue.sqlite'));
    db.exec(`PRAGMA user_version = ${present}`);
    db.close();
    open();
  });
});
