import { expect } from 'chai';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { type EventPage, EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { removalOf } from '../../services/bridge/queue/pruning.ts';
import type { NewEvent } from '../../services/bridge/queue/stored-event.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import type { StoragePlace } from '../fixtures/bridge/storage-place.ts';

export const sampleEvent: NewEvent = {
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

export function eventOf(number: number, more: Partial<NewEvent> = {}): NewEvent {
  const target = { ...sampleEvent.target!, number };
  return { ...sampleEvent, event_id: `e${number}`, body_sha256: `sha${number}`, target, ...more };
}

export async function failure(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return codeOf(error);
  }
  return 'none';
}

/** What every queue of events does, wherever its events are. */
export function bridgeQueueContract(
  name: string,
  makePlace: () => StoragePlace | Promise<StoragePlace>,
): void {
  describe(`the queue of events in ${name}`, () => {
    let place: StoragePlace;
    let storage: BridgeStorage;
    let queue: EventQueue;

    beforeEach(async () => {
      place = await makePlace();
      await open();
    });
    afterEach(() => storage.close());

    async function open(): Promise<void> {
      storage = place.open();
      queue = new EventQueue(storage, queueConfig);
    }

    async function reopen(): Promise<void> {
      await storage.close();
      await open();
    }

    const ids = async (state?: Parameters<EventQueue['list']>[0]['state']) => {
      const { events } = await queue.list({ limit: 100, ...(state === undefined ? {} : { state }) });
      return events.map((one) => one.event_id);
    };

    it('keeps an event as it came, over a new start, control characters and all', async () => {
      const { event: kept, duplicate } = await queue.accept(sampleEvent);
      expect(duplicate).to.equal(false);
      await reopen();
      expect(await queue.get('e1')).to.deep.equal(kept);
      expect((await queue.get('e1')).content).to.deep.equal(sampleEvent.content);
    });

    it('evaluates a redelivered skipped event again, and nothing else', async () => {
      const skip = { code: 'target_host_unknown', message: 'no such forge' };
      const { event: skipped } = await queue.accept(eventOf(1, { skip, target: null }));
      expect(await queue.accept(eventOf(1, { skip, target: null }))).to.deep.equal({
        event: skipped,
        duplicate: true,
      });
      await place.pass(1_000);
      const { event: planned, duplicate } = await queue.accept(eventOf(1));
      expect(duplicate).to.equal(false);
      expect(planned).to.deep.include({
        ...{ event_id: 'e1', seq: skipped.seq, state: 'pending', due_at: place.now(), reason: null },
        target: eventOf(1).target,
      });
      await reopen();
      expect(await queue.get('e1')).to.deep.equal(planned);
      expect((await queue.accept(eventOf(1))).duplicate).to.equal(true);
      const other = { ...sampleEvent.content, kind: 'issue.updated' };
      expect(await failure(() => queue.accept(eventOf(1, { body_sha256: 'x', content: other })))).to.equal(
        'event_id_reused',
      );
    });

    it('evaluates a delivery again that comes with the bytes of another one', async () => {
      const skip = { code: 'target_host_unknown', message: 'no such forge' };
      await queue.accept(eventOf(1, { source: 'github', skip, target: null }));
      await queue.accept(eventOf(2, { source: 'github', content: eventOf(1).content }));
      const again = await queue.accept(eventOf(1, { source: 'github', body_sha256: eventOf(2).body_sha256 }));
      expect(again.event).to.include({
        event_id: 'e1',
        state: 'pending',
        body_sha256: eventOf(1).body_sha256,
      });
    });

    it('says why a skipped one cannot be tried again', async () => {
      await queue.accept(eventOf(1, { skip: { code: 'x', message: 'no such forge' } }));
      const refused = await queue.revive('e1').catch(messageOf);
      expect(refused).to.contain('"e1" is skipped (no such forge): only a dead one');
    });

    it('reports what died lately', async () => {
      await queue.accept(eventOf(1));
      await queue.dead((await queue.claim(1_000))!, { code: 'x', message: 'y' }, null);
      expect(await queue.backlog(1)).to.deep.equal({ oldestMs: null, died: 1 });
      await queue.accept(eventOf(2));
      await place.pass(60_000);
      expect(await queue.backlog(60_000)).to.deep.equal({ oldestMs: 60_000, died: 0 });
    });

    it('has an event once, however often it comes at the same time', async () => {
      const accepted = await Promise.all(Array.from({ length: 1_000 }, () => queue.accept(sampleEvent)));
      expect(accepted.filter(({ duplicate }) => !duplicate)).to.have.length(1);
      expect(new Set(accepted.map(({ event }) => event.seq)).size).to.equal(1);
      expect((await queue.counts()).pending).to.equal(1);
    });

    it('takes other bytes that say the same for the same event, and refuses another content', async () => {
      await queue.accept(sampleEvent);
      expect(await queue.accept({ ...sampleEvent, body_sha256: 'b', by: 'else' })).to.deep.include({
        duplicate: true,
      });
      const other = { ...sampleEvent.content, issue: { ...sampleEvent.content.issue, title: 'other' } };
      const refused = { ...sampleEvent, body_sha256: 'c', content: other };
      expect(await failure(() => queue.accept(refused))).to.equal('event_id_reused');
      expect(await failure(() => queue.accept({ ...sampleEvent, source: 'github' }))).to.equal(
        'event_id_reused',
      );
    });

    it('takes what a clock that was set back since had put far off, and what was claimed then', async () => {
      const truth = place.now();
      await place.pass(10 * 24 * 3_600_000);
      await queue.accept(sampleEvent);
      await queue.accept(eventOf(2));
      const claim = (await queue.claim(1_000, 'e2'))!;
      expect(claim.event.event_id).to.equal('e2');
      await place.set(truth);
      expect((await queue.claim(1_000))?.event.event_id).to.equal('e2');
      expect((await queue.claim(1_000))?.event.event_id).to.equal('e1');
    });

    it('takes one that is named no sooner than its issue is free', async () => {
      await queue.accept(sampleEvent);
      await queue.accept({ ...sampleEvent, event_id: 'same-issue', body_sha256: 'other' });
      const claim = (await queue.claim(1_000))!;
      expect(await queue.claim(1_000, 'same-issue')).to.equal(null);
      await queue.done(claim, 'run_1');
      expect((await queue.claim(1_000, 'same-issue'))?.event.event_id).to.equal('same-issue');
    });

    it('refuses one of a group alone', async () => {
      await queue.accept(sampleEvent);
      const outcomes = await Promise.allSettled([
        queue.accept(eventOf(2)),
        queue.accept({ ...sampleEvent, body_sha256: 'z', role: null }),
        queue.accept(eventOf(3)),
      ]);
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
      expect(await ids()).to.deep.equal(['e3', 'e2', 'e1']);
    });

    it("knows a forge's delivery by its bytes too, since nothing signs its id", async () => {
      const first = eventOf(1, { source: 'github', event_id: 'github:a', body_sha256: 'same' });
      await queue.accept(first);
      const replayed = await queue.accept({ ...first, event_id: 'github:b' });
      expect(replayed).to.deep.include({ duplicate: true });
      expect(replayed.event.event_id).to.equal('github:a');
      const fromGitea = await queue.accept({ ...first, source: 'gitea', event_id: 'gitea:a' });
      expect(fromGitea.duplicate).to.equal(false);
    });

    it('plans an issue once where several deliveries say the same of it', async () => {
      const delivery = (id: string, says: string | null) =>
        eventOf(1, { event_id: id, source: 'github', body_sha256: id, issue_sha256: says });
      const states = async (...incoming: [id: string, says: string | null][]) => {
        const accepted = await Promise.all(incoming.map(([id, says]) => queue.accept(delivery(id, says))));
        return accepted.map(({ event: one }) => `${one.state} ${one.reason?.code ?? ''}`.trim());
      };
      expect(await states(['a', 'x'], ['b', 'x'])).to.deep.equal(['pending', 'skipped same_content']);
      const claim = (await queue.claim(1_000))!;
      expect(await states(['c', 'x'], ['d', null])).to.deep.equal(['skipped same_content', 'pending']);
      await queue.done(claim, 'run_1');
      expect(await states(['e', 'x'])).to.deep.equal(['skipped same_content']);
      expect((await queue.get('e')).reason?.message)
        .to.contain('run_1')
        .and.to.contain('"a"');
      expect(await states(['f', 'y'])).to.deep.equal(['pending']);
      expect(await states(['g', 'x'])).to.deep.equal(['pending']);
    });

    it('plans what says the same again after a while, after a failure, and for another issue', async () => {
      const delivery = (id: string, number: number) =>
        eventOf(number, { event_id: id, source: 'github', body_sha256: id, issue_sha256: 'x' });
      await queue.accept(delivery('a', 1));
      await queue.done((await queue.claim(1_000))!, 'run_1');
      expect((await queue.accept(delivery('b', 2))).event.state).to.equal('pending');
      await place.pass(600_001);
      expect((await queue.accept(delivery('c', 1))).event.state).to.equal('pending');
      await queue.dead((await queue.claim(1_000, 'c'))!, { code: 'x', message: 'y' }, null);
      expect((await queue.accept(delivery('d', 1))).event.state).to.equal('pending');
    });

    it('keeps what is not planned, with the reason, and never gives it out', async () => {
      const skip = { code: 'target_missing', message: 'no issue' };
      const { event: kept } = await queue.accept({ ...sampleEvent, target: null, skip });
      expect(kept).to.deep.include({ state: 'skipped', reason: skip });
      expect(await queue.claim(1_000)).to.equal(null);
      expect(await failure(() => queue.claim(1_000, 'e1'))).to.equal('event_not_pending');
    });

    it('gives every event to one taker, in the order in which they came', async () => {
      for (const number of [1, 2, 3]) await queue.accept(eventOf(number));
      const taken: (string | undefined)[] = [];
      for (let nth = 0; nth < 4; nth++) taken.push((await queue.claim(1_000))?.event.event_id);
      expect(taken).to.deep.equal(['e1', 'e2', 'e3', undefined]);
      expect((await queue.counts()).processing).to.equal(3);
    });

    it('gives out one event of an issue at a time', async () => {
      await queue.accept(eventOf(1));
      await queue.accept(eventOf(1, { event_id: 'e1b', body_sha256: 'x' }));
      const first = (await queue.claim(1_000))!;
      expect(await queue.claim(1_000)).to.equal(null);
      await queue.done(first, 'run_1');
      expect((await queue.claim(1_000))?.event.event_id).to.equal('e1b');
    });

    it('gives out the event that is asked for, also before its time', async () => {
      for (const number of [1, 2]) await queue.accept(eventOf(number));
      await queue.failed((await queue.claim(1_000, 'e2'))!, { code: 'x', message: 'y' });
      expect((await queue.claim(1_000, 'e2'))?.event).to.deep.include({ event_id: 'e2', attempts: 1 });
      expect(await failure(() => queue.claim(1_000, 'e2'))).to.equal('event_not_pending');
      expect(await failure(() => queue.claim(1_000, 'e9'))).to.equal('event_not_found');
    });

    it('has an event pending again when the lease of its taker is over, who then ends nothing any more', async () => {
      await queue.accept(sampleEvent);
      const lost = (await queue.claim(1_000))!;
      await place.pass(1_000);
      expect(await queue.claim(1_000)).to.equal(null);
      await place.pass(1);
      const again = (await queue.claim(1_000))!;
      expect(await queue.done(lost, 'run_lost')).to.equal(false);
      expect(await queue.failed(lost, { code: 'x', message: 'y' })).to.equal(false);
      expect(await queue.release(lost)).to.equal(false);
      expect(await queue.done(again, 'run_1')).to.equal(true);
      expect(await queue.get('e1')).to.deep.include({ state: 'done', run_id: 'run_1', attempts: 0 });
    });

    it('lets nobody end an event whose lease is over, also where nobody else took it', async () => {
      await queue.accept(sampleEvent);
      const lost = (await queue.claim(1_000))!;
      await place.pass(1_001);
      const reason = { code: 'x', message: 'y' };
      const ends = [
        () => queue.done(lost, 'run_lost'),
        () => queue.failed(lost, reason),
        () => queue.postponed(lost, reason, 1),
        () => queue.dead(lost, reason, null),
        () => queue.skipped(lost, reason),
        () => queue.release(lost),
      ];
      for (const end of ends) expect(await end()).to.equal(false);
      expect((await queue.claim(1_000))?.event).to.include({ event_id: 'e1', attempts: 0 });
    });

    it('finds the event of a run, of an issue, and of what is planned now', async () => {
      const target = sampleEvent.target!;
      const run = { forge: 'local', owner: 'demo', repo: 'hello', number: 1 };
      await queue.accept({ ...sampleEvent, issue_sha256: 'x' });
      expect((await queue.lastOfIssue(target))?.event_id).to.equal('e1');
      expect(await queue.lastOfIssue({ ...target, number: 2 })).to.equal(null);
      expect(await queue.underWayFor(run)).to.equal(null);
      const claim = (await queue.claim(1_000))!;
      expect((await queue.underWayFor(run))?.event_id).to.equal('e1');
      await queue.done(claim, 'run_1');
      expect((await queue.ofRun('run_1'))?.event_id).to.equal('e1');
      expect(await queue.underWayFor({ ...run, number: null })).to.equal(null);
    });

    it('has none of what ended long ago, and all that waits', async () => {
      const days = {
        retention: { days: 90, dead_days: 365 },
        sync: { seconds: 60, days: 30, attempts: 10, dashboards: [] },
      };
      for (const number of [1, 2, 3]) await queue.accept(eventOf(number));
      await queue.done((await queue.claim(1_000))!, 'run_1');
      await queue.dead((await queue.claim(1_000))!, { code: 'x', message: 'y' }, null);
      await place.pass(91 * 24 * 3_600_000);
      expect(await storage.prune(removalOf(days))).to.equal(1);
      expect(await ids()).to.deep.equal(['e3', 'e2']);
      await place.pass(300 * 24 * 3_600_000);
      expect(await storage.prune(removalOf(days))).to.equal(1);
      expect(await ids()).to.deep.equal(['e3']);
    });

    it('waits after a failure, and says what is due next', async () => {
      await queue.accept(sampleEvent);
      const reason = { code: 'TIMEOUT', message: 'nothing came' };
      await queue.failed((await queue.claim(1_000))!, reason);
      expect(await queue.get('e1')).to.deep.include({ state: 'pending', attempts: 1, reason });
      expect(await queue.claim(1_000)).to.equal(null);
      const due = (await queue.nextDue())!;
      expect(due.inMs).to.be.within(4_000, 6_001);
      expect(due.at).to.equal(place.now() + due.inMs);
      await place.set(due.at);
      expect((await queue.claim(1_000))?.event.event_id).to.equal('e1');
    });

    it('tries a dead event again on request, with another run if its own failed', async () => {
      await queue.accept(sampleEvent);
      const reason = { code: 'x', message: 'y' };
      await queue.dead((await queue.claim(1_000))!, reason, null);
      expect(await failure(() => queue.claim(1_000, 'e1'))).to.equal('event_not_pending');
      expect(await queue.revive('e1')).to.deep.include({
        state: 'pending',
        attempts: 0,
        generation: 0,
        reason: null,
      });
      await queue.dead((await queue.claim(1_000))!, reason, 'run_failed');
      expect(await queue.get('e1')).to.deep.include({ state: 'dead', run_id: 'run_failed' });
      expect(await queue.revive('e1')).to.deep.include({ generation: 1, run_id: null });
      expect(await failure(() => queue.revive('e1'))).to.equal('event_not_dead');
      expect(await failure(() => queue.revive('e2'))).to.equal('event_not_found');
    });

    it('is listed page by page, pending events from the oldest, others from the newest', async () => {
      for (let number = 1; number <= 5; number++) await queue.accept(eventOf(number));
      await queue.done((await queue.claim(1_000))!, 'run_1');
      const pages = async (state?: 'pending') => {
        const found: string[][] = [];
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const page: EventPage = await queue.list({
            limit: 2,
            ...(state === undefined ? {} : { state }),
            ...(cursor === undefined ? {} : { cursor }),
          });
          found.push(page.events.map((one) => one.event_id));
          cursor = page.next_cursor;
        }
        return found;
      };
      expect(await pages('pending')).to.deep.equal([
        ['e2', 'e3'],
        ['e4', 'e5'],
      ]);
      expect(await pages()).to.deep.equal([['e5', 'e4'], ['e3', 'e2'], ['e1']]);
      expect(await ids('done')).to.deep.equal(['e1']);
      for (const cursor of ['', 'x', Buffer.from('e-1').toString('base64url'), '../../etc'])
        expect(await failure(() => queue.list({ limit: 1, cursor }))).to.equal('invalid_cursor');
    });
  });
}
