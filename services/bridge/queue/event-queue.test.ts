import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { migrate } from '#kit/storage/database.ts';
import { queueConfig } from '../../../test/fixtures/bridge/queue-config.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { type BridgeDatabase, openBridgeDatabase, queueKind } from './bridge-database.ts';
import { EventQueue } from './event-queue.ts';
import type { NewEvent } from './stored-event.ts';

const sample: NewEvent = {
  event_id: 'e1',
  source: 'dashboard',
  body_sha256: 'a',
  content: {
    kind: 'issue.created',
    occurred_at: '2026-01-01T00:00:00Z',
    issue: { id: '42', title: 'A\u0000 \u001b[31mtitle \ud800', status: 'todo', labels: [], url: null },
    actor: 'mira',
  },
  target: { forge: 'local', owner: 'demo', repo: 'hello', number: 1 },
  role: { key: 'default', name: 'Depute' },
  skip: null,
  notes: [],
  by: 'token:bridge',
};

function event(number: number, more: Partial<NewEvent> = {}): NewEvent {
  const target = { ...sample.target!, number };
  return { ...sample, event_id: `e${number}`, body_sha256: `sha${number}`, target, ...more };
}

async function failure(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return codeOf(error);
  }
  return 'none';
}

describe('The queue of events', () => {
  let state: string;
  let database: BridgeDatabase;
  let queue: EventQueue;
  let now = 1_000_000;

  beforeEach(() => {
    now = 1_000_000;
    state = temporaryFolder();
    open();
  });
  afterEach(() => database.close());

  function open(): void {
    database = openBridgeDatabase(state);
    queue = new EventQueue(database, queueConfig, () => now);
  }

  function reopen(): void {
    database.close();
    open();
  }

  /** Of a file that an earlier version made. */
  function reopenOf(version: number, fill: (db: DatabaseSync) => void): void {
    database.close();
    const path = join(state, 'bridge/queue.sqlite');
    rmSync(path);
    const db = new DatabaseSync(path);
    migrate(db, queueKind, version);
    fill(db);
    db.close();
    open();
  }

  const ids = (state: Parameters<EventQueue['list']>[0]['state']) =>
    queue.list({ limit: 100, ...(state === undefined ? {} : { state }) }).events.map((one) => one.event_id);

  it('keeps an event as it came, over a new start, control characters and all', async () => {
    const { event: kept, duplicate } = await queue.accept(sample);
    expect(duplicate).to.equal(false);
    reopen();
    expect(queue.get('e1')).to.deep.equal(kept);
    expect(queue.get('e1').content).to.deep.equal(sample.content);
  });

  it('evaluates a redelivered skipped event again, and nothing else', async () => {
    const skip = { code: 'target_host_unknown', message: 'no such forge' };
    const { event: skipped } = await queue.accept(event(1, { skip, target: null }));
    expect(await queue.accept(event(1, { skip, target: null }))).to.deep.equal({
      event: skipped,
      duplicate: true,
    });
    now += 1_000;
    const { event: planned, duplicate } = await queue.accept(event(1));
    expect(duplicate).to.equal(false);
    expect(planned).to.deep.include({
      ...{ event_id: 'e1', seq: skipped.seq, state: 'pending', due_at: now, reason: null },
      target: event(1).target,
    });
    reopen();
    expect(queue.get('e1')).to.deep.equal(planned);
    expect((await queue.accept(event(1))).duplicate).to.equal(true);
    const other = { ...sample.content, kind: 'issue.updated' };
    expect(await failure(() => queue.accept(event(1, { body_sha256: 'x', content: other })))).to.equal(
      'event_id_reused',
    );
  });

  it('evaluates a delivery again that comes with the bytes of another one', async () => {
    const skip = { code: 'target_host_unknown', message: 'no such forge' };
    await queue.accept(event(1, { source: 'github', skip, target: null }));
    await queue.accept(event(2, { source: 'github', content: event(1).content }));
    const again = await queue.accept(event(1, { source: 'github', body_sha256: event(2).body_sha256 }));
    expect(again.event).to.include({ event_id: 'e1', state: 'pending', body_sha256: event(1).body_sha256 });
  });

  it('says why a skipped one cannot be tried again', async () => {
    await queue.accept(event(1, { skip: { code: 'x', message: 'no such forge' } }));
    expect(() => queue.revive('e1')).to.throw('"e1" is skipped (no such forge): only a dead one');
  });

  it('reports what died lately', async () => {
    await queue.accept(event(1));
    queue.dead(queue.claim(1_000)!, { code: 'x', message: 'y' }, null);
    expect([queue.diedSince(now - 1), queue.diedSince(now)]).to.deep.equal([1, 0]);
  });

  it('is on the disk before it is acknowledged', async () => {
    await queue.accept(sample);
    const other = new DatabaseSync(join(state, 'bridge/queue.sqlite'), { readOnly: true });
    expect(other.prepare('SELECT count(*) AS n FROM events').get()).to.deep.include({ n: 1 });
    other.close();
    expect(database.db.prepare('PRAGMA synchronous').get()).to.deep.include({ synchronous: 2 });
  });

  it('has an event once, however often it comes at the same time', async () => {
    const accepted = await Promise.all(Array.from({ length: 1_000 }, () => queue.accept(sample)));
    expect(accepted.filter(({ duplicate }) => !duplicate)).to.have.length(1);
    expect(new Set(accepted.map(({ event }) => event.seq)).size).to.equal(1);
    expect(queue.counts().pending).to.equal(1);
  });

  it('takes other bytes that say the same for the same event, and refuses another content', async () => {
    await queue.accept(sample);
    expect(await queue.accept({ ...sample, body_sha256: 'b', by: 'else' })).to.deep.include({
      duplicate: true,
    });
    const other = { ...sample.content, issue: { ...sample.content.issue, title: 'other' } };
    const refused = { ...sample, body_sha256: 'c', content: other };
    expect(await failure(() => queue.accept(refused))).to.equal('event_id_reused');
    expect(await failure(() => queue.accept({ ...sample, source: 'github' }))).to.equal('event_id_reused');
  });

  it('takes what a clock that was set back since had put far off, and what was claimed then', async () => {
    const truth = now;
    now += 10 * 24 * 3_600_000;
    await queue.accept(sample);
    await queue.accept(event(2));
    const claim = queue.claim(1_000, 'e2')!;
    expect(claim.event.event_id).to.equal('e2');
    now = truth;
    expect(queue.claim(1_000)?.event.event_id).to.equal('e2');
    expect(queue.claim(1_000)?.event.event_id).to.equal('e1');
  });

  it('takes one that is named no sooner than its issue is free', async () => {
    await queue.accept(sample);
    await queue.accept({ ...sample, event_id: 'same-issue', body_sha256: 'other' });
    const claim = queue.claim(1_000)!;
    expect(queue.claim(1_000, 'same-issue')).to.equal(null);
    queue.done(claim, 'run_1');
    expect(queue.claim(1_000, 'same-issue')?.event.event_id).to.equal('same-issue');
  });

  it('refuses one of a group alone', async () => {
    await queue.accept(sample);
    const outcomes = await Promise.allSettled([
      queue.accept(event(2)),
      queue.accept({ ...sample, body_sha256: 'z', role: null }),
      queue.accept(event(3)),
    ]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(ids(undefined)).to.deep.equal(['e3', 'e2', 'e1']);
  });

  it("knows a forge's delivery by its bytes too, since nothing signs its id", async () => {
    const first = event(1, { source: 'github', event_id: 'github:a', body_sha256: 'same' });
    await queue.accept(first);
    const replayed = await queue.accept({ ...first, event_id: 'github:b' });
    expect(replayed).to.deep.include({ duplicate: true });
    expect(replayed.event.event_id).to.equal('github:a');
    const fromGitea = await queue.accept({ ...first, source: 'gitea', event_id: 'gitea:a' });
    expect(fromGitea.duplicate).to.equal(false);
  });

  it('knows the bytes of deliveries that the version before kept', async () => {
    const first = event(1, { source: 'github', event_id: 'github:a', body_sha256: 'same' });
    await queue.accept(first);
    const { facts } = database.db.prepare('SELECT facts FROM events').get() as { facts: string };
    reopenOf(3, (db) =>
      db
        .prepare(
          `INSERT INTO events (event_id, source, body_sha256, facts, target, state, received_at, changed_at, due_at)
          VALUES ('github:a', 'github', 'same', ?, 'local/demo/hello#1', 'pending', 1, 1, 1)`,
        )
        .run(facts),
    );
    expect((await queue.accept({ ...first, event_id: 'github:b' })).event.event_id).to.equal('github:a');
    const plan = database.db
      .prepare(
        "EXPLAIN QUERY PLAN SELECT * FROM events WHERE source = ? AND body_sha256 = ? AND source NOT IN ('dashboard', 'schedule')",
      )
      .all('github', 'same') as { detail: string }[];
    expect(plan.map(({ detail }) => detail).join()).to.contain('forge_bodies');
  });

  it('keeps the deliveries of the version before', () => {
    reopenOf(4, (db) =>
      db.exec(`
        INSERT INTO deliveries (dashboard, run_id, status, body, state, attempts, due_at, changed_at, problem) VALUES
          ('board', 'run_1', 'planned', '{}', 'delivered', 0, 5, 6, NULL),
          ('board', 'run_1', 'completed', '{}', 'waiting', 2, 7, 8, 'answered 500'),
          ('board', 'run_2', 'planned', '{}', 'dead', 3, 9, 10, 'answered 422')`),
    );
    const rows = database.db
      .prepare('SELECT seq, status, state, attempts, due_at, changed_at, reason FROM deliveries')
      .all();
    expect(rows.map((row) => Object.values(row))).to.deep.equal([
      [1, 'planned', 'done', 0, null, 6, null],
      [2, 'completed', 'pending', 2, 7, 8, 'answered 500'],
      [3, 'planned', 'dead', 3, null, 10, 'answered 422'],
    ]);
  });

  it('plans an issue once where several deliveries say the same of it', async () => {
    const delivery = (id: string, says: string | null) =>
      event(1, { event_id: id, source: 'github', body_sha256: id, issue_sha256: says });
    const states = async (...incoming: [id: string, says: string | null][]) => {
      const accepted = await Promise.all(incoming.map(([id, says]) => queue.accept(delivery(id, says))));
      return accepted.map(({ event: one }) => `${one.state} ${one.reason?.code ?? ''}`.trim());
    };
    expect(await states(['a', 'x'], ['b', 'x'])).to.deep.equal(['pending', 'skipped same_content']);
    const claim = queue.claim(1_000)!;
    expect(await states(['c', 'x'], ['d', null])).to.deep.equal(['skipped same_content', 'pending']);
    queue.done(claim, 'run_1');
    expect(await states(['e', 'x'])).to.deep.equal(['skipped same_content']);
    expect(queue.get('e').reason?.message).to.contain('run_1').and.to.contain('"a"');
    expect(await states(['f', 'y'])).to.deep.equal(['pending']);
    expect(await states(['g', 'x'])).to.deep.equal(['pending']);
  });

  it('plans what says the same again after a while, after a failure, and for another issue', async () => {
    const delivery = (id: string, number: number) =>
      event(number, { event_id: id, source: 'github', body_sha256: id, issue_sha256: 'x' });
    await queue.accept(delivery('a', 1));
    queue.done(queue.claim(1_000)!, 'run_1');
    expect((await queue.accept(delivery('b', 2))).event.state).to.equal('pending');
    now += 600_001;
    expect((await queue.accept(delivery('c', 1))).event.state).to.equal('pending');
    queue.dead(queue.claim(1_000, 'c')!, { code: 'x', message: 'y' }, null);
    expect((await queue.accept(delivery('d', 1))).event.state).to.equal('pending');
  });

  it('keeps what is not planned, with the reason, and never gives it out', async () => {
    const skip = { code: 'target_missing', message: 'no issue' };
    const { event: kept } = await queue.accept({ ...sample, target: null, skip });
    expect(kept).to.deep.include({ state: 'skipped', reason: skip });
    expect(queue.claim(1_000)).to.equal(null);
    expect(await failure(() => queue.claim(1_000, 'e1'))).to.equal('event_not_pending');
  });

  it('gives every event to one taker, in the order in which they came', async () => {
    for (const number of [1, 2, 3]) await queue.accept(event(number));
    const taken = [queue.claim(1_000), queue.claim(1_000), queue.claim(1_000), queue.claim(1_000)];
    expect(taken.map((claim) => claim?.event.event_id)).to.deep.equal(['e1', 'e2', 'e3', undefined]);
    expect(queue.counts().processing).to.equal(3);
  });

  it('gives out one event of an issue at a time', async () => {
    await queue.accept(event(1));
    await queue.accept(event(1, { event_id: 'e1b', body_sha256: 'x' }));
    const first = queue.claim(1_000)!;
    expect(queue.claim(1_000)).to.equal(null);
    queue.done(first, 'run_1');
    expect(queue.claim(1_000)?.event.event_id).to.equal('e1b');
  });

  it('gives out the event that is asked for, also before its time', async () => {
    for (const number of [1, 2]) await queue.accept(event(number));
    queue.failed(queue.claim(1_000, 'e2')!, { code: 'x', message: 'y' });
    expect(queue.claim(1_000, 'e2')?.event).to.deep.include({ event_id: 'e2', attempts: 1 });
    expect(await failure(() => queue.claim(1_000, 'e2'))).to.equal('event_not_pending');
    expect(await failure(() => queue.claim(1_000, 'e9'))).to.equal('event_not_found');
  });

  it('has an event pending again when the lease of its taker is over, who then ends nothing any more', async () => {
    await queue.accept(sample);
    const lost = queue.claim(1_000)!;
    now += 1_000;
    expect(queue.claim(1_000)).to.equal(null);
    now += 1;
    const again = queue.claim(1_000)!;
    expect(queue.done(lost, 'run_lost')).to.equal(false);
    expect(queue.failed(lost, { code: 'x', message: 'y' })).to.equal(false);
    expect(queue.release(lost)).to.equal(false);
    expect(queue.done(again, 'run_1')).to.equal(true);
    expect(queue.get('e1')).to.deep.include({ state: 'done', run_id: 'run_1', attempts: 0 });
  });

  it('has an event pending again when its taker is gone with its process', async () => {
    await queue.accept(sample);
    queue.claim(3_600_000);
    reopen();
    expect(queue.get('e1')).to.deep.include({ state: 'pending', attempts: 0 });
    expect(queue.claim(1_000)?.event.event_id).to.equal('e1');
  });

  it('waits after a failure, and says what is due next', async () => {
    await queue.accept(sample);
    const reason = { code: 'TIMEOUT', message: 'nothing came' };
    queue.failed(queue.claim(1_000)!, reason);
    expect(queue.get('e1')).to.deep.include({ state: 'pending', attempts: 1, reason });
    expect(queue.claim(1_000)).to.equal(null);
    const due = queue.nextDue()!;
    expect(due - now).to.be.within(4_000, 6_001);
    now = due;
    expect(queue.claim(1_000)?.event.event_id).to.equal('e1');
  });

  it('tries a dead event again on request, with another run if its own failed', async () => {
    await queue.accept(sample);
    const reason = { code: 'x', message: 'y' };
    queue.dead(queue.claim(1_000)!, reason, null);
    expect(await failure(() => queue.claim(1_000, 'e1'))).to.equal('event_not_pending');
    expect(queue.revive('e1')).to.deep.include({
      state: 'pending',
      attempts: 0,
      generation: 0,
      reason: null,
    });
    queue.dead(queue.claim(1_000)!, reason, 'run_failed');
    expect(queue.get('e1')).to.deep.include({ state: 'dead', run_id: 'run_failed' });
    expect(queue.revive('e1')).to.deep.include({ generation: 1, run_id: null });
    expect(await failure(() => queue.revive('e1'))).to.equal('event_not_dead');
    expect(await failure(() => queue.revive('e2'))).to.equal('event_not_found');
  });

  it('is listed page by page, pending events from the oldest, others from the newest', async () => {
    for (let number = 1; number <= 5; number++) await queue.accept(event(number));
    queue.done(queue.claim(1_000)!, 'run_1');
    const pages = (state?: 'pending') => {
      const found: string[][] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = queue.list({
          limit: 2,
          ...(state === undefined ? {} : { state }),
          ...(cursor === undefined ? {} : { cursor }),
        });
        found.push(page.events.map((one) => one.event_id));
        cursor = page.next_cursor;
      }
      return found;
    };
    expect(pages('pending')).to.deep.equal([
      ['e2', 'e3'],
      ['e4', 'e5'],
    ]);
    expect(pages()).to.deep.equal([['e5', 'e4'], ['e3', 'e2'], ['e1']]);
    expect(ids('done')).to.deep.equal(['e1']);
    for (const cursor of ['', 'x', Buffer.from('e-1').toString('base64url'), '../../etc'])
      expect(await failure(() => queue.list({ limit: 1, cursor }))).to.equal('invalid_cursor');
  });

  it('lists and claims by its indexes, however many events there are', () => {
    const plan = (sql: string) =>
      (database.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
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
    const { user_version: present } = database.db.prepare('PRAGMA user_version').get() as {
      user_version: number;
    };
    database.db.exec('PRAGMA user_version = 99');
    database.close();
    expect(await failure(() => openBridgeDatabase(state))).to.equal('queue_newer');
    const db = new DatabaseSync(join(state, 'bridge/queue.sqlite'));
    db.exec(`PRAGMA user_version = ${present}`);
    db.close();
    open();
  });
});
