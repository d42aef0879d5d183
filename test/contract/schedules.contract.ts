import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { Unavailable } from '#kit/errors.ts';
import { silentLogger } from '#kit/log.ts';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { readSchedules, type Schedule } from '../../services/bridge/schedules/configuration.ts';
import { Schedules } from '../../services/bridge/schedules/schedules.ts';
import { readRoleMap } from '../../services/bridge/targets/role-map.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import type { StoragePlace } from '../fixtures/bridge/storage-place.ts';
import { ToyDaemon } from '../fixtures/bridge/toy-daemon.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

export const morning = { name: 'morning', cron: '30 9 * * *', owner: 'demo', repo: 'hello' };
const hour = 3_600_000;
export const at = (text: string) => Date.parse(`${text}Z`);

export function readSchedulesOf(schedules: unknown): readonly Schedule[] {
  const config = temporaryFolder();
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'schedules.json'), JSON.stringify({ schedules }));
  const folders = { config };
  return readSchedules(folders, { roles: readRoleMap(folders), forges: readKnownForges(folders) });
}

/** What schedules do when the bus calls, wherever it is kept how far they have come. */
export function schedulesContract(name: string, makePlace: () => StoragePlace | Promise<StoragePlace>): void {
  describe(`schedules in ${name}`, () => {
    let place: StoragePlace;
    let storage: BridgeStorage;
    let queue: EventQueue;
    let daemon: ToyDaemon;
    let schedules: Schedules;
    let made: number;

    beforeEach(async () => {
      place = await makePlace();
      await place.set(at('2026-05-04T08:00:10'));
      made = 0;
      storage = place.open();
      queue = new EventQueue(storage, queueConfig);
      daemon = new ToyDaemon();
      daemon.issueList = [issue(1), issue(2)];
      await start([morning]);
    });
    afterEach(() => storage.close());

    async function start(entries: readonly object[]): Promise<void> {
      schedules = new Schedules({
        schedules: readSchedulesOf(entries),
        rows: storage.schedules,
        daemon,
        queue,
        roles: readRoleMap({ config: temporaryFolder() }),
        logger: silentLogger,
        made: () => made++,
      });
      await schedules.begin();
    }

    function issue(number: number, planned: string | null = null) {
      return {
        ...{ number, title: `issue ${number}`, state: 'open', author: 'mira', labels: ['bug'] },
        created_at: '2026-05-01T00:00:00Z',
        updated_at: '2026-05-02T00:00:00Z',
        html_url: null,
        planned:
          planned === null
            ? null
            : {
                run_id: 'run_1',
                at: planned,
                status: 'completed' as const,
                unchanged: planned > '2026-05-02',
              },
      };
    }

    async function tickAt(text: string) {
      await place.set(at(text));
      return schedules.tick();
    }

    it('makes an event of each issue that was not planned since its last update', async () => {
      daemon.issueList = [issue(1), issue(2, '2026-05-03T00:00:00Z'), issue(3, '2026-05-01T00:00:00Z')];
      expect(await tickAt('2026-05-04T09:29:00')).to.deep.equal({
        ok: true,
        due: [],
        events: 0,
        problems: [],
      });
      expect(daemon.asked).to.deep.equal([]);
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ due: ['morning'], events: 2 });
      const { events } = await queue.list({ limit: 10, state: 'pending' });
      expect(events.map(({ event_id }) => event_id)).to.deep.equal([
        'schedule:morning:local/demo/hello#1:2026-05-02T00:00:00Z',
        'schedule:morning:local/demo/hello#3:2026-05-02T00:00:00Z',
      ]);
      expect(events[0]).to.deep.include({ source: 'schedule', by: 'schedule:morning' });
      expect(events[0]!.target).to.deep.equal({ forge: 'local', owner: 'demo', repo: 'hello', number: 1 });
      expect(made).to.equal(1);
    });

    it('does not plan again what only Core has commented on', async () => {
      const planned = { run_id: 'run_1', at: '2026-05-01T00:00:00Z', status: 'completed' as const };
      daemon.issueList = [
        { ...issue(1), planned: { ...planned, unchanged: true } },
        { ...issue(2), planned: { ...planned, unchanged: false } },
      ];
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ due: ['morning'], events: 1 });
      const { events } = await queue.list({ limit: 10, state: 'pending' });
      expect(events.map(({ target }) => target?.number)).to.deep.equal([2]);
    });

    it('is done once a time, however often the bus calls, at the same time too', async () => {
      await place.set(at('2026-05-04T09:30:00'));
      const ticks = await Promise.all([schedules.tick(), schedules.tick(), schedules.tick()]);
      expect(ticks.map(({ due }) => due.length)).to.deep.equal([1, 0, 0]);
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ due: [] });
      expect(daemon.asked).to.have.length(1);
    });

    it('makes no second event of the same update, and one of the next', async () => {
      await tickAt('2026-05-04T09:30:00');
      expect(await tickAt('2026-05-05T09:30:00')).to.deep.include({ due: ['morning'], events: 0 });
      daemon.issueList = [{ ...issue(1), updated_at: '2026-05-05T12:00:00Z' }];
      expect(await tickAt('2026-05-06T09:30:00')).to.deep.include({ events: 1 });
    });

    it('makes one event of its task each time, and asks no forge', async () => {
      await start([{ ...morning, task: 'Greet strangers\n\nAll of them.', role: 'architect' }]);
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ due: ['morning'], events: 1 });
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ due: [], events: 0 });
      expect(daemon.asked).to.deep.equal([]);
      const [event] = (await queue.list({ limit: 10, state: 'pending' })).events;
      expect(event).to.deep.include({
        event_id: 'schedule:morning:demo/hello:2026-05-04T09:30:00.000Z',
        target: {
          forge: null,
          owner: 'demo',
          repo: 'hello',
          number: null,
          task: 'Greet strangers\n\nAll of them.',
        },
      });
      expect(event!.content.issue.title).to.equal('Greet strangers');
      expect(event!.role).to.include({ key: 'architect' });
    });

    it('adds no task to one that waits still, and adds another task', async () => {
      await start([{ ...morning, task: 'Greet' }]);
      await tickAt('2026-05-04T09:30:00');
      await tickAt('2026-05-05T09:30:00');
      await start([{ ...morning, task: 'Greet and smile' }]);
      await tickAt('2026-05-06T09:30:00');
      expect(await queue.counts()).to.include({ pending: 2, skipped: 1 });
      const [skipped] = (await queue.list({ limit: 10, state: 'skipped' })).events;
      expect(skipped!.reason!.message).to.include('the task is that of event');
      expect(skipped!.reason!.message).to.include('which is planned for both');
    });

    it('is made up for once after days without a call, also by another process', async () => {
      await start([morning]);
      expect(await tickAt('2026-05-09T17:45:00')).to.deep.include({ due: ['morning'] });
      expect(await tickAt('2026-05-09T17:46:00')).to.deep.include({ due: [] });
    });

    it('is not made up for before it was configured, nor while it was switched off', async () => {
      expect(await tickAt('2026-05-04T08:01:00')).to.deep.include({ due: [] });
      await start([{ ...morning, enabled: false }]);
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ due: [] });
      await start([morning]);
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ due: [] });
      expect(daemon.asked).to.deep.equal([]);
    });

    it('stays due while the daemon cannot be asked, and says so', async () => {
      daemon.problem = new Unavailable('http_unavailable', 'nobody answers');
      const failed = await tickAt('2026-05-04T09:30:00');
      expect(failed).to.deep.include({ ok: false, problems: ['morning: nobody answers'] });
      expect((await schedules.state()).problems).to.deep.equal(['morning: nobody answers']);
      daemon.problem = null;
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ ok: true, due: ['morning'], events: 2 });
      expect((await schedules.state()).problems).to.deep.equal([]);
    });

    it('plans nothing twice where the clock goes back, and comes again where it had been far ahead', async () => {
      await tickAt('2026-05-04T09:30:00');
      expect(await tickAt('2026-05-04T09:29:30')).to.deep.include({ due: [] });
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ events: 0 });
      await tickAt('2036-01-01T00:00:00');
      await tickAt('2026-05-05T09:00:00');
      expect(await tickAt('2026-05-05T09:30:00')).to.deep.include({ due: ['morning'] });
    });

    it('is asked for by what is configured, and listed with when it comes next', async () => {
      await start([
        {
          ...morning,
          name: 'bugs',
          zone: 'America/New_York',
          label: 'bug',
          state: 'all',
          limit: 5,
          forge: 'github',
        },
      ]);
      expect((await schedules.list()).schedules[0]).to.deep.include({
        name: 'bugs',
        next_at: '2026-05-04T13:30:00.000Z',
        last_result: null,
      });
      await tickAt('2026-05-04T13:30:00');
      expect(daemon.asked[0]).to.include({ forge: 'github', label: 'bug', state: 'all', limit: 5 });
      expect((await schedules.list()).schedules[0]).to.deep.include({ next_at: '2026-05-05T13:30:00.000Z' });
      expect(Date.parse((await schedules.list()).last_tick_at!) - at('2026-05-04T13:30:00')).to.be.lessThan(
        hour,
      );
    });
  });
}
