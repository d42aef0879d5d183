import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { DurableQueue, jobColumns, retrySeconds } from './durable-queue.ts';

const reason = { code: 'busy', message: 'it is busy' };

describe('A durable queue', () => {
  let db: DatabaseSync;
  let queue: DurableQueue;
  let now: number;
  beforeEach(() => {
    now = 1_000_000;
    db = new DatabaseSync(':memory:');
    db.exec(`CREATE TABLE mails (${jobColumns}, box TEXT NOT NULL);
      CREATE INDEX mails_due ON mails (due_at) WHERE state = 'pending'`);
    const ready = "box NOT IN (SELECT box FROM mails WHERE state = 'processing')";
    const table = { name: 'mails', ready, dueIndex: 'mails_due' };
    queue = new DurableQueue(db, table, { attempts: 3, first: 5, max: 600 }, () => now);
    for (const box of ['a', 'a', 'b']) add(box);
  });
  afterEach(() => db.close());

  function add(box: string): void {
    db.prepare("INSERT INTO mails (state, due_at, changed_at, box) VALUES ('pending', ?, ?, ?)").run(
      now,
      now,
      box,
    );
  }

  const claim = (where = {}) => queue.claim(60_000, where)?.claim ?? null;
  const row = (seq: number) => db.prepare('SELECT * FROM mails WHERE seq = ?').get(seq)!;

  it('gives each job to one taker, the longest due first, and only what is ready', () => {
    expect([claim(), claim(), claim()].map((one) => one?.seq)).to.deep.equal([1, 3, undefined]);
    expect(queue.counts()).to.deep.equal({ pending: 1, processing: 2 });
  });

  it('takes only jobs that are asked for, one of them before its time where that is wanted', () => {
    expect(claim({ box: 'b' })?.seq).to.equal(3);
    queue.failed(claim({ box: 'a' })!, reason);
    queue.done(claim({ box: 'a' })!);
    expect(claim({ box: 'a' })).to.equal(null);
    expect(queue.claim(60_000, { seq: 1 }, true)?.claim).to.include({ seq: 1, attempts: 1 });
  });

  it('waits longer after each failure, and gives a job up after the last', () => {
    for (const seconds of [5, 30]) {
      queue.failed(claim()!, reason);
      expect(row(1)).to.include({ state: 'pending', reason: reason.message, claim: null });
      expect(Number(row(1).due_at) - now).to.be.within(seconds * 800, seconds * 1200 + 1);
      now = Number(row(1).due_at);
      db.exec("UPDATE mails SET due_at = due_at + 1000000 WHERE state = 'pending' AND seq <> 1");
    }
    queue.failed(claim()!, reason);
    expect(row(1)).to.include({ state: 'dead', attempts: 3, reason_code: 'busy' });
    expect(queue.revive({ box: 'a' })).to.have.length(1);
    expect(row(1)).to.include({ state: 'pending', attempts: 0, reason: null });
  });

  it('waits at least as long as was asked, and counts no attempt that was put off or left', () => {
    queue.failed(claim()!, reason, 900);
    expect(row(1).due_at).to.equal(now + 900_000);
    queue.postponed(claim()!, reason, 7_000);
    expect(row(2)).to.include({ due_at: now + 600_000, attempts: 0 });
    queue.release(claim()!);
    expect(row(3)).to.include({ state: 'pending', due_at: now, attempts: 0 });
    queue.hurry({ box: 'a' });
    expect([row(1).due_at, queue.nextDue()]).to.deep.equal([now, now]);
  });

  it('gives a job out again when its lease is over, whose first taker then ends nothing', () => {
    const lost = claim()!;
    now += 60_001;
    const again = claim()!;
    expect(again.seq).to.equal(lost.seq);
    expect([queue.done(lost), queue.release(lost), queue.dead(lost, reason)]).to.deep.equal([
      false,
      false,
      false,
    ]);
    expect(queue.done(again)).to.equal(true);
  });

  it('waits six times as long after each failure, up to a limit', () => {
    const waits = [1, 2, 3, 4, 5, 60].map((n) => retrySeconds(n, { first: 5, max: 600 }, () => 0.5));
    expect(waits).to.deep.equal([5, 30, 180, 600, 600, 600]);
    const bounds = [0, 0.999].map((random) => retrySeconds(1, { first: 5, max: 600 }, () => random));
    expect(bounds[0]).to.equal(4);
    expect(bounds[1]).to.be.within(5.9, 6);
  });
});
