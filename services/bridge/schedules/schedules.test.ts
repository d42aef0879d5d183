import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { InvalidInput } from '#kit/errors.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { readRoleMap } from '../targets/role-map.ts';
import { cronTimes, readSchedules, type Schedule } from './configuration.ts';

const morning = { name: 'morning', cron: '30 9 * * *', owner: 'demo', repo: 'hello' };
const at = (text: string) => Date.parse(`${text}Z`);

function read(schedules: unknown): readonly Schedule[] {
  const config = temporaryFolder();
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'schedules.json'), JSON.stringify({ schedules }));
  const folders = { config };
  return readSchedules(folders, { roles: readRoleMap(folders), forges: readKnownForges(folders) });
}

describe('A schedule in a night of 25 or 23 hours', () => {
  const nights = [
    { zone: 'Europe/Zurich', cron: '30 2 * * *', from: '2026-10-24T12:00', hours: 24, count: 1 },
    { zone: 'Europe/Zurich', cron: '30 2 * * *', from: '2026-03-28T12:00', hours: 24, count: 1 },
    { zone: 'Europe/Zurich', cron: '*/20 1-3 * * *', from: '2026-10-24T21:30', hours: 8, count: 9 },
    { zone: 'America/New_York', cron: '30 1 * * *', from: '2026-11-01T00:00', hours: 24, count: 1 },
    { zone: 'America/New_York', cron: '30 2 * * *', from: '2026-03-08T00:00', hours: 24, count: 1 },
    { zone: 'Australia/Lord_Howe', cron: '45 1 * * *', from: '2026-04-04T06:00', hours: 24, count: 1 },
    { zone: 'Antarctica/Troll', cron: '30 1 * * *', from: '2026-10-24T12:00', hours: 24, count: 1 },
    { zone: 'Asia/Kolkata', cron: '0 * * * *', from: '2026-10-24T12:15', hours: 6, count: 6 },
  ];
  for (const { zone, cron, from, hours, count } of nights)
    it(`fires once for each local time: ${cron} in ${zone} from ${from}`, () => {
      const next = cronTimes(cron, zone);
      const clock = new Intl.DateTimeFormat('en', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
      const fired: string[] = [];
      // Asked each minute, as the bus calls.
      let until = at(from);
      for (let now = until; now < at(from) + hours * 3_600_000; now += 60_000) {
        const due = next(until);
        if (due !== null && due <= now) fired.push(clock.format(due));
        until = now;
      }
      expect(fired).to.have.length(count);
      expect(new Set(fired).size).to.equal(count);
    });
});

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
});
