import { expect } from 'chai';
import type { Columns, DatabaseJobs, JobTable } from '#kit/jobs/database-jobs.ts';
import { DurableQueue } from '#kit/jobs/durable-queue.ts';

export interface JobsPlace {
  readonly rows: DatabaseJobs;
  /** The clock, which stands still, in milliseconds since 1970. */
  now(): number;
  set(time: number): Promise<void>;
  /** A pending job that is due now. */
  add(box: string): Promise<void>;
  row(seq: number): Promise<Record<string, unknown>>;
  /** Changes jobs behind the queue's back. */
  change(sql: string): Promise<void>;
  end(): Promise<void>;
}

const reason = { code: 'busy', message: 'it is busy' };

/** One job of a box at a time. */
export const mails: JobTable = {
  name: 'mails',
  ready: "box NOT IN (SELECT box FROM mails WHERE state = 'processing')",
};

/** What every durable queue does, wherever its jobs are. */
export function durableQueueContract(name: string, makePlace: () => Promise<JobsPlace>): void {
  describe(`a durable queue in ${name}`, () => {
    let place: JobsPlace;
    let queue: DurableQueue;
    beforeEach(async () => {
      place = await makePlace();
      queue = new DurableQueue(place.rows, { attempts: 3, first: 5, max: 600 });
      for (const box of ['a', 'a', 'b']) await place.add(box);
    });
    afterEach(() => place.end());

    const claim = async (where: Columns = {}) => (await queue.claim(60_000, where))?.claim ?? null;
    const row = (seq: number) => place.row(seq);

    it('gives each job to one taker, the longest due first, and only what is ready', async () => {
      const taken = [await claim(), await claim(), await claim()];
      expect(taken.map((one) => one?.seq)).to.deep.equal([1, 3, undefined]);
      expect(await queue.counts()).to.deep.equal({ pending: 1, processing: 2 });
    });

    it('takes only jobs that are asked for, one of them before its time where that is wanted', async () => {
      expect((await claim({ box: 'b' }))?.seq).to.equal(3);
      await queue.failed((await claim({ box: 'a' }))!, reason);
      await queue.done((await claim({ box: 'a' }))!);
      expect(await claim({ box: 'a' })).to.equal(null);
      expect((await queue.claim(60_000, { seq: 1 }, true))?.claim).to.include({ seq: 1, attempts: 1 });
    });

    it('waits longer after each failure, and gives a job up after the last', async () => {
      for (const seconds of [5, 30]) {
        await queue.failed((await claim())!, reason);
        expect(await row(1)).to.include({ state: 'pending', reason: reason.message, claim: null });
        expect(Number((await row(1)).due_at) - place.now()).to.be.within(seconds * 800, seconds * 1200 + 1);
        await place.set(Number((await row(1)).due_at));
        await place.change("UPDATE mails SET due_at = due_at + 1000000 WHERE state = 'pending' AND seq <> 1");
      }
      await queue.failed((await claim())!, reason);
      expect(await row(1)).to.include({ state: 'dead', attempts: 3, reason_code: 'busy' });
      expect(await queue.revive({ box: 'a' })).to.equal(1);
      expect(await row(1)).to.include({ state: 'pending', attempts: 0, reason: null });
    });

    it('waits at least as long as was asked, and counts no attempt that was put off or left', async () => {
      await queue.failed((await claim())!, reason, 900);
      expect((await row(1)).due_at).to.equal(place.now() + 900_000);
      await queue.postponed((await claim())!, reason, 7_000);
      expect(await row(2)).to.include({ due_at: place.now() + 600_000, attempts: 0 });
      await queue.release((await claim())!);
      expect(await row(3)).to.include({ state: 'pending', due_at: place.now(), attempts: 0 });
      await queue.hurry({ box: 'a' });
      expect((await row(1)).due_at).to.equal(place.now());
      expect(await queue.nextDue()).to.deep.equal({ at: place.now(), inMs: 0 });
    });

    it('gives a job out again when its lease is over, whose first taker then ends nothing', async () => {
      const lost = (await claim())!;
      await place.set(place.now() + 60_001);
      const again = (await claim())!;
      expect(again.seq).to.equal(lost.seq);
      const ends = [queue.done(lost), queue.release(lost), queue.dead(lost, reason)];
      expect(await Promise.all(ends)).to.deep.equal([false, false, false]);
      expect(await queue.done(again)).to.equal(true);
    });
  });
}
