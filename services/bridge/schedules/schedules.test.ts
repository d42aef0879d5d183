import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { InvalidInput, Unavailable } from '#kit/errors.ts';
import { silentLogger } from '#kit/log.ts';
import { queueConfig } from '../../../test/fixtures/bridge/queue-config.ts';
import { ToyDaemon } from '../../../test/fixtures/bridge/toy-daemon.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { type BridgeDatabase, openBridgeDatabase } from '../queue/bridge-database.ts';
import { EventQueue } from '../queue/event-queue.ts';
import { readRoleMap } from '../targets/role-map.ts';
import { cronTimes, readSchedules, type Schedule } from './configuration.ts';
import { ScheduleRows, Schedules } from './schedules.ts';

const morning = { name: 'morning', cron: '30 9 * * *', owner: 'demo', repo: 'hello' };
const hour = 3_600_000;
const at = (text: string) => Date.parse(`${text}Z`);

function read(schedules: unknown): readonly Schedule[] {
  const config = temporaryFolder();
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'schedules.json'), JSON.stringify({ schedules }));
  const folders = { config };
  return readSchedules(folders, { roles: readRoleMap(folders), forges: readKnownForges(folders) });
}

describe('A schedule', () => {
  describe('as it is configured', () => {
    it('has defaults for what is left out', () => {
      expect(read([morning])).to.deep.equal([
        {
          ...morning,
          ...{
            zone: 'UTC',
            enabled: true,
            forge: null,
            label: null,
            state: 'open',
            limit: 10,
            role: null,
            task: null,
          },
        },
      ]);
    });

    const broken: readonly (readonly [string, unknown, string])[] = [
      ['cron', '61 * * * *', 'five parts'],
      ['cron', '* * * *', 'five parts'],
      ['cron', '* * * * * *', 'five parts'],
      ['cron', '0 0 31 2 *', 'no time ever'],
      ['cron', 5, 'five parts'],
      ['zone', 'Mars/Phobos', 'Europe/Berlin'],
      ['zone', '+02:00', 'Europe/Berlin'],
      ['name', 'Two Words', 'lower-case'],
      ['owner', '../etc', 'koajs'],
      ['forge', 'other', 'must be one of local, github'],
      ['state', 'new', 'open, closed, all'],
      ['limit', 0, '1 to 100'],
      ['role', 'nobody', 'must be a role that plans, one of architect, default'],
      ['role', 'executor', 'must be a role that plans'],
      ['lable', 'bug', 'label'],
    ];
    for (const [member, value, rule] of broken) {
      it(`is refused with the place and the rule: ${member} ${JSON.stringify(value)}`, () => {
        expect(() => read([{ ...morning, [member]: value }]))
          .to.throw(InvalidInput, `/schedules/0/${member}`)
          .with.property('message')
          .that.contains('schedules.json')
          .and.contains(rule);
      });
    }

    for (const [more, place] of [
      [{ task: ' ' }, '/schedules/0/task'],
      [{ task: `use ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}` }, '/schedules/0/task holds what looks like'],
      [{ task: 'Greet', label: 'bug' }, '/schedules/0/label is "bug": must be left out beside a task'],
      [{ task: 'Greet', limit: 3 }, '/schedules/0/limit is 3: must be left out beside a task'],
    ] as const)
      it(`is refused where its task is none, holds a secret, or is beside a query: ${Object.keys(more)}`, () => {
        expect(() => read([{ ...morning, ...more }])).to.throw(InvalidInput, place);
      });

    it('is refused under the name of another one', () => {
      expect(() => read([morning, morning])).to.throw('/schedules/1/name');
    });
  });

  describe('in a zone that changes its clocks', () => {
    const times = (cron: string, from: string, count: number) => {
      const after = cronTimes(cron, 'Europe/Berlin');
      const found: string[] = [];
      for (let time = at(from); found.length < count; ) {
        time = after(time)!;
        found.push(new Date(time).toISOString().slice(0, 16));
      }
      return found;
    };

    it('comes once a day, also where its time does not exist, or exists twice', () => {
      expect(times('30 2 * * *', '2026-03-28T00:00', 3)).to.deep.equal([
        '2026-03-28T01:30',
        '2026-03-29T01:00',
        '2026-03-30T00:30',
      ]);
      expect(times('30 2 * * *', '2026-10-24T00:00', 3)).to.deep.equal([
        '2026-10-24T00:30',
        '2026-10-25T00:30',
        '2026-10-26T01:30',
      ]);
    });

    it('comes each hour that passes, where it is for each hour', () => {
      expect(times('0 * * * *', '2026-10-24T23:30', 3)).to.deep.equal([
        '2026-10-25T00:00',
        '2026-10-25T01:00',
        '2026-10-25T02:00',
      ]);
    });
  });

  describe('when the minute comes', () => {
    let now: number;
    let database: BridgeDatabase;
    let queue: EventQueue;
    let daemon: ToyDaemon;
    let schedules: Schedules;
    let made: number;

    beforeEach(() => {
      now = at('2026-05-04T08:00:10');
      made = 0;
      database = openBridgeDatabase(temporaryFolder());
      queue = new EventQueue(database, queueConfig, () => now);
      daemon = new ToyDaemon();
      daemon.issueList = [issue(1), issue(2)];
      start([morning]);
    });
    afterEach(() => database.close());

    function start(entries: readonly object[]): void {
      schedules = new Schedules({
        schedules: read(entries),
        rows: new ScheduleRows(database.db),
        daemon,
        queue,
        roles: readRoleMap({ config: temporaryFolder() }),
        logger: silentLogger,
        made: () => made++,
        now: () => now,
      });
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
      now = at(text);
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
      const { events } = queue.list({ limit: 10, state: 'pending' });
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
      const { events } = queue.list({ limit: 10, state: 'pending' });
      expect(events.map(({ target }) => target?.number)).to.deep.equal([2]);
    });

    it('is done once a time, however often the bus calls, at the same time too', async () => {
      now = at('2026-05-04T09:30:00');
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
      start([{ ...morning, task: 'Greet strangers\n\nAll of them.', role: 'architect' }]);
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ due: ['morning'], events: 1 });
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ due: [], events: 0 });
      expect(daemon.asked).to.deep.equal([]);
      const [event] = queue.list({ limit: 10, state: 'pending' }).events;
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
      start([{ ...morning, task: 'Greet' }]);
      await tickAt('2026-05-04T09:30:00');
      await tickAt('2026-05-05T09:30:00');
      start([{ ...morning, task: 'Greet and smile' }]);
      await tickAt('2026-05-06T09:30:00');
      expect(queue.counts()).to.include({ pending: 2, skipped: 1 });
      const [skipped] = queue.list({ limit: 10, state: 'skipped' }).events;
      expect(skipped!.reason!.message).to.include('the task is that of event');
      expect(skipped!.reason!.message).to.include('which is planned for both');
    });

    it('is made up for once after days without a call, also by another process', async () => {
      start([morning]);
      expect(await tickAt('2026-05-09T17:45:00')).to.deep.include({ due: ['morning'] });
      expect(await tickAt('2026-05-09T17:46:00')).to.deep.include({ due: [] });
    });

    it('is not made up for before it was configured, nor while it was switched off', async () => {
      expect(await tickAt('2026-05-04T08:01:00')).to.deep.include({ due: [] });
      start([{ ...morning, enabled: false }]);
      expect(await tickAt('2026-05-04T09:30:00')).to.deep.include({ due: [] });
      start([morning]);
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ due: [] });
      expect(daemon.asked).to.deep.equal([]);
    });

    it('stays due while the daemon cannot be asked, and says so', async () => {
      daemon.problem = new Unavailable('http_unavailable', 'nobody answers');
      const failed = await tickAt('2026-05-04T09:30:00');
      expect(failed).to.deep.include({ ok: false, problems: ['morning: nobody answers'] });
      expect(schedules.problems()).to.deep.equal(['morning: nobody answers']);
      daemon.problem = null;
      expect(await tickAt('2026-05-04T09:31:00')).to.deep.include({ ok: true, due: ['morning'], events: 2 });
      expect(schedules.problems()).to.deep.equal([]);
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
      start([
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
      expect(schedules.list().schedules[0]).to.deep.include({
        name: 'bugs',
        next_at: '2026-05-04T13:30:00.000Z',
        last_result: null,
      });
      await tickAt('2026-05-04T13:30:00');
      expect(daemon.asked[0]).to.include({ forge: 'github', label: 'bug', state: 'all', limit: 5 });
      expect(schedules.list().schedules[0]).to.deep.include({ next_at: '2026-05-05T13:30:00.000Z' });
      expect(Date.parse(schedules.list().last_tick_at!) - at('2026-05-04T13:30:00')).to.be.lessThan(hour);
    });
  });
});
