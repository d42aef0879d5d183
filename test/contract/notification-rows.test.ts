import { join } from 'node:path';
import { expect } from 'chai';
import { openPostgres } from '#kit/database/postgres.ts';
import { openSqlite } from '#kit/database/sqlite.ts';
import type { Notice } from '../../services/agentd/notifications/notice.ts';
import { type Job, NotificationRows } from '../../services/agentd/notifications/notification-rows.ts';
import { NotificationQueue } from '../../services/agentd/notifications/queue.ts';
import type { RunChanges } from '../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';

interface Place {
  open(): NotificationRows;
  /** The clock, which stands still, in milliseconds since 1970. */
  now(): number;
  set(time: number): Promise<void>;
}

const begin = 1_000_000;
const mira = { person: 'mira', channel: 'webhook' };

function job(id: string, more: Partial<Job> = {}): Job {
  const notice = { id, run_id: `run_${id}`, text: 'a \u0000 text' } as Notice;
  return { ...mira, notice, inMs: 0, ...more };
}

function seen(sizes: Readonly<Record<string, number>>, position: string | null = null): RunChanges {
  return { sizes: new Map(Object.entries(sizes)), all: true, position };
}

async function unseen(queue: NotificationQueue, sizes: Readonly<Record<string, number>>) {
  return Object.fromEntries(await queue.unseen(new Map(Object.entries(sizes))));
}

function contract(name: string, makePlace: () => Place | Promise<Place>): void {
  describe(`notifications in ${name}`, () => {
    let place: Place;
    let queues: NotificationQueue[];
    let queue: NotificationQueue;

    beforeEach(async () => {
      place = await makePlace();
      queues = [];
      queue = open();
    });
    afterEach(async () => {
      for (const one of queues) await one.close();
    });

    function open(): NotificationQueue {
      const opened = new NotificationQueue(async () => place.open());
      queues.push(opened);
      return opened;
    }

    it('are none before somebody is to be notified, and runs as they were then are no news', async () => {
      expect([await queue.counts(), await queue.problem(), await queue.dueTargets()]).to.deep.equal([
        {},
        null,
        [],
      ]);
      await queue.begin(seen({ run_1: 10 }));
      await queue.begin(seen({ run_2: 20 }));
      expect(await unseen(queue, { run_1: 10, run_2: 20 })).to.deep.equal({ run_2: 20 });
    });

    it('begin for each person when the person is first looked at', async () => {
      await queue.begin(seen({}));
      await queue.since(['mira']);
      await place.set(begin + 5_000);
      expect([...(await queue.since(['mira', 'jo']))]).to.deep.equal([
        ['mira', begin],
        ['jo', begin + 5_000],
      ]);
    });

    it('are there once for a person, a channel and a notice, over a new start too', async () => {
      await queue.begin(seen({}));
      expect(
        await queue.add([job('a'), job('b'), job('a', { channel: 'mail' })], seen({ run_a: 1 })),
      ).to.equal(3);
      expect(await queue.add([job('a'), job('c')], seen({ run_a: 2 }))).to.equal(1);
      await queues.pop()!.close();
      const again = open();
      expect(await again.add([job('a')], seen({}))).to.equal(0);
      expect(await unseen(again, { run_a: 1, run_b: 1 })).to.deep.equal({ run_a: 1, run_b: 1 });
      expect(await unseen(again, { run_a: 2 })).to.deep.equal({});
      expect(await again.counts()).to.deep.equal({ pending: 4 });
    });

    it('are taken for one target at a time, all that is due of it as one message', async () => {
      await queue.begin(seen({}));
      await queue.add([job('a'), job('b'), job('c', { inMs: 60_000 }), job('d', { person: 'jo' })], seen({}));
      const targets = [...(await queue.dueTargets())].sort((x, y) => (x.person < y.person ? -1 : 1));
      expect(targets).to.deep.equal([{ ...mira, person: 'jo' }, mira]);
      const claimed = await queue.claim(mira);
      expect(claimed.map(({ notice }) => notice.id)).to.deep.equal(['a', 'b']);
      expect(await queue.claim(mira)).to.deep.equal([]);
      for (const { claim } of claimed) await queue.done(claim);
      await place.set(begin + 60_000);
      const [later] = await queue.claim(mira);
      await queue.postponed(later!.claim, 30);
      expect(await queue.claim(mira)).to.deep.equal([]);
      await place.set(begin + 90_000);
      await queue.skipped((await queue.claim(mira))[0]!.claim, 'dealt with');
      expect(await queue.counts()).to.deep.equal({ done: 2, skipped: 1, pending: 1 });
    });

    it('wait together after a failure, what comes later behind them, and say why', async () => {
      await queue.begin(seen({}));
      await queue.add([job('a'), job('b')], seen({}));
      const claims = (await queue.claim(mira)).map(({ claim }) => claim);
      expect(await queue.failed(claims, 'answered 429', 600)).to.equal(true);
      await queue.add([job('c')], seen({}));
      await place.set(begin + 599_000);
      expect(await queue.claim(mira)).to.deep.equal([]);
      const { backlog, message } = (await queue.problem())!;
      expect(backlog).to.deep.equal({ waiting: 2, oldest_seconds: 599 });
      expect(message).to.equal('webhook of mira: answered 429');
      await place.set(begin + 600_001);
      expect(await queue.claim(mira)).to.have.length(3);
    });

    it('are given out again when their sender is gone', async () => {
      await queue.begin(seen({}));
      await queue.add([job('a')], seen({}));
      const [lost] = await queue.claim(mira);
      expect(await queue.dueTargets()).to.deep.equal([]);
      await place.set(begin + 60_001);
      expect(await queue.dueTargets()).to.deep.equal([mira]);
      const [again] = await queue.claim(mira);
      await queue.failed([lost!.claim], 'too late', 0);
      await queue.done(again!.claim);
      expect(await queue.counts()).to.deep.equal({ done: 1 });
    });
  });
}

contract('a file', () => {
  const state = temporaryFolder();
  let now = begin;
  return {
    open: () =>
      new NotificationRows(openSqlite(join(state, agentdSchema.file), agentdSchema, { now: () => now })),
    now: () => now,
    async set(time) {
      now = time;
    },
  };
});

describeWith(['postgres'], 'in PostgreSQL', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  async function place(): Promise<Place> {
    const settings = await server.database();
    const open = () => new NotificationRows(openPostgres(settings, 'core-test', { schema: agentdSchema }));
    const first = open();
    await first.exists();
    await first.close();
    let now = begin;
    await server.ask(
      settings,
      `CREATE TABLE test_clock AS SELECT ${begin}::bigint AS ms;
      CREATE OR REPLACE FUNCTION core_clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ms FROM test_clock'`,
    );
    return {
      open,
      now: () => now,
      async set(time) {
        now = time;
        await server.ask(settings, 'UPDATE test_clock SET ms = $1', [now]);
      },
    };
  }

  contract('a database', place);

  it('changes are looked at since the newest position, by whichever daemon looked', async () => {
    const { open } = await place();
    const [one, other] = [open(), open()].map((rows) => new NotificationQueue(async () => rows));
    expect(await one!.position()).to.equal(null);
    await one!.begin(seen({ run_a: 1 }, 'here/10'));
    expect(await other!.position()).to.equal('here/10');
    await other!.add([], seen({ run_b: 1 }, 'here/12'));
    expect(await one!.position()).to.equal('here/12');
    for (const queue of [one!, other!]) await queue.close();
  });

  it('each notification is added and claimed by one of several daemons', async () => {
    const { open } = await place();
    const queues = Array.from({ length: 4 }, () => new NotificationQueue(async () => open()));
    const jobs = Array.from({ length: 50 }, (_, nth) => job(`${nth}`, { person: `person-${nth % 5}` }));
    const sizes = seen(Object.fromEntries(jobs.map(({ notice }) => [notice.run_id, 1])));
    await Promise.all(queues.map((queue) => queue.begin(sizes)));
    const added = await Promise.all(queues.map((queue) => queue.add(jobs, sizes)));
    expect(added.reduce((sum, one) => sum + one, 0)).to.equal(50);
    const claimed: string[] = [];
    await Promise.all(
      queues.map(async (queue) => {
        for (const target of await queue.dueTargets())
          for (const { claim, notice } of await queue.claim(target)) {
            claimed.push(notice.id);
            await queue.done(claim);
          }
      }),
    );
    expect(new Set(claimed).size).to.equal(50);
    expect(claimed).to.have.length(50);
    expect(await queues[0]!.counts()).to.deep.equal({ done: 50 });
    for (const queue of queues) await queue.close();
  });
});
