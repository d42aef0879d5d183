import { expect } from 'chai';
import type { RunStateMessage } from '#kit/contracts/bridge/sync.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { Unavailable } from '#kit/errors.ts';
import { silentLogger } from '#kit/log.ts';
import { DeliveryFailed } from '#kit/webhooks/webhook.ts';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import type { Dashboard } from '../../services/bridge/sync/dashboard.ts';
import { Sync } from '../../services/bridge/sync/sync.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import type { StoragePlace } from '../fixtures/bridge/storage-place.ts';
import { ToyDaemon } from '../fixtures/bridge/toy-daemon.ts';

class ToyDashboard implements Dashboard {
  readonly name: string;
  readonly taken: string[] = [];
  /** Called before a message is taken. */
  before: (key: string) => void = () => {};

  constructor(name: string) {
    this.name = name;
  }

  async deliver({ key, body }: { key: string; body: string }): Promise<void> {
    this.before(key);
    expect((JSON.parse(body) as RunStateMessage).key).to.equal(key);
    this.taken.push(key);
  }

  async close(): Promise<void> {}
}

/** What every outbox of dashboards does, wherever its reports are. */
export function syncContract(name: string, makePlace: () => StoragePlace | Promise<StoragePlace>): void {
  describe(`what is reported to dashboards from ${name}`, () => {
    let place: StoragePlace;
    let storage: BridgeStorage;
    let daemon: ToyDaemon;
    let board: ToyDashboard;
    let other: ToyDashboard;
    let sync: Sync;

    beforeEach(async () => {
      place = await makePlace();
      await place.set(Date.parse('2026-05-04T08:00:00Z'));
      daemon = new ToyDaemon();
      board = new ToyDashboard('board');
      other = new ToyDashboard('other');
      storage = place.open();
      start();
    });
    afterEach(async () => {
      await sync.close();
      await storage.close();
    });

    function start(): void {
      const queue = new EventQueue(storage, queueConfig);
      const config = { seconds: 60, days: 30, attempts: 3, dashboards: [] };
      const { deliveries, deliveryJobs } = storage;
      const parts = {
        deliveries,
        deliveryJobs,
        queue,
        daemon,
        config,
        logger: silentLogger,
        observe: () => {},
        now: () => place.now(),
      };
      sync = new Sync({ ...parts, dashboards: [board, other] });
    }

    function run(
      run_id: string,
      status: RunSummary['status'],
      created_at = '2026-05-03T00:00:00Z',
    ): RunSummary {
      return {
        ...{
          run_id,
          status,
          forge: 'local',
          owner: 'demo',
          repo: 'hello',
          number: 1,
          title: 't',
          role: 'Depute',
        },
        ...{
          created_at,
          updated_at: created_at,
          highest_risk: null,
          waiting: 0,
          waits_for: null,
          actions: 0,
        },
      };
    }

    it('is each state of each run, once, over a new start too', async () => {
      daemon.runList = [run('run_2', 'planning'), run('run_1', 'completed')];
      expect(await sync.sync()).to.deep.include({ runs: 2, queued: 4, delivered: 4, failed: 0 });
      await sync.sync();
      await sync.close();
      await storage.close();
      storage = place.open();
      start();
      daemon.runList = [run('run_2', 'awaiting_approval'), run('run_1', 'completed')];
      expect(await sync.sync()).to.deep.include({ queued: 2, delivered: 2 });
      expect(board.taken).to.deep.equal([
        'board/run_2/planning',
        'board/run_1/completed',
        'board/run_2/awaiting_approval',
      ]);
      expect(other.taken).to.have.length(3);
      daemon.runList = [{ ...run('run_2', 'awaiting_approval'), waits_for: 'publish' }];
      await sync.sync();
      expect(board.taken.at(-1)).to.equal('board/run_2/awaiting_approval/publish');
    });

    it('leaves out runs of smoke tests', async () => {
      daemon.runList = [{ ...run('run_2', 'completed'), forge: 'core-smoke' }, run('run_1', 'completed')];
      expect(await sync.sync()).to.deep.include({ runs: 1, delivered: 2 });
      expect(board.taken).to.deep.equal(['board/run_1/completed']);
    });

    it('leaves out runs that began long ago', async () => {
      daemon.runList = [run('run_2', 'completed'), run('run_1', 'completed', '2026-01-01T00:00:00Z')];
      expect(await sync.sync()).to.deep.include({ runs: 1, delivered: 2 });
    });

    it('keeps all reports for a dashboard that does not answer, and delivers to the others', async () => {
      daemon.runList = [run('run_2', 'completed'), run('run_1', 'completed')];
      let asked = 0;
      board.before = () => {
        asked++;
        throw new DeliveryFailed('cannot be reached');
      };
      const { dashboards, ...counts } = await sync.sync();
      expect(counts).to.include({ delivered: 2, failed: 1 });
      expect(dashboards.board).to.deep.equal({
        waiting: 2,
        delivered: 0,
        dead: 0,
        problem: 'cannot be reached',
      });
      expect(asked).to.equal(1);
      board.before = () => {};
      await place.pass(60_000);
      expect((await sync.sync()).dashboards.board).to.deep.include({
        waiting: 0,
        delivered: 2,
        problem: null,
      });
    });

    it('is tried before its time when somebody asks for it', async () => {
      daemon.runList = [run('run_1', 'completed')];
      board.before = () => {
        throw new DeliveryFailed('there is no secret');
      };
      await sync.sync();
      board.before = () => {};
      expect((await sync.sync()).dashboards.board).to.include({ waiting: 1, problem: 'there is no secret' });
      expect((await sync.sync({ early: true })).dashboards.board).to.include({ waiting: 0, delivered: 1 });
    });

    it('goes on with others where one message is refused, and gives that one up after a few times', async () => {
      daemon.runList = [run('run_2', 'completed'), run('run_1', 'completed')];
      board.before = (key) => {
        if (key.includes('run_2')) throw new DeliveryFailed('answered 422', { ofMessage: true });
      };
      for (let attempt = 0; attempt < 5; attempt++) {
        await sync.sync();
        await place.pass(3_600_000);
      }
      expect(board.taken).to.deep.equal(['board/run_1/completed']);
      const { dashboards } = await sync.sync();
      expect(dashboards.board).to.deep.equal({ waiting: 0, delivered: 1, dead: 1, problem: 'answered 422' });
      board.before = () => {};
      expect((await sync.sync({ retryDead: true })).dashboards.board).to.include({ dead: 0, delivered: 2 });
    });

    it('comes in order for one run, whatever had to wait', async () => {
      daemon.runList = [run('run_1', 'planning')];
      board.before = () => {
        throw new DeliveryFailed('answered 400', { ofMessage: true });
      };
      await sync.sync();
      board.before = () => {};
      daemon.runList = [run('run_1', 'completed')];
      await sync.sync();
      expect(board.taken).to.deep.equal([]);
      await place.pass(60_000);
      await sync.sync();
      expect(board.taken).to.deep.equal(['board/run_1/planning', 'board/run_1/completed']);
    });

    it('leaves a dashboard alone for as long as it asks', async () => {
      daemon.runList = [run('run_1', 'completed')];
      board.before = () => {
        throw new DeliveryFailed('answered 429', { retryAfter: 600 });
      };
      await sync.sync();
      board.before = () => {};
      await place.pass(599_000);
      expect(await sync.sync()).to.include({ delivered: 0 });
      await place.pass(2_000);
      expect(await sync.sync()).to.include({ delivered: 1 });
    });

    it('is what waits, also while the runs cannot be looked at; and then that is said', async () => {
      daemon.runList = [run('run_1', 'completed')];
      board.before = () => {
        throw new DeliveryFailed('cannot be reached');
      };
      await sync.sync();
      board.before = () => {};
      await place.pass(60_000);
      daemon.problem = new Unavailable('http_unavailable', 'nobody answers');
      const refused = await sync.sync().catch((error) => error);
      expect(refused).to.be.instanceOf(Unavailable);
      expect(sync.problem).to.equal('nobody answers');
      expect(board.taken).to.deep.equal(['board/run_1/completed']);
    });

    it('is delivered once if two syncs run at the same time', async () => {
      daemon.runList = [run('run_1', 'completed')];
      await Promise.all([sync.sync(), sync.sync(), sync.sync()]);
      expect(board.taken).to.have.length(1);
    });

    it('adds no state of a run from before one that is there: whoever saw it was slow', async () => {
      const delivery = (status: string, at: string) => ({
        ...{ dashboard: 'board', run_id: 'run_1', status },
        ...{ body: JSON.stringify({ run: { updated_at: at } }), run_updated_at: at },
      });
      const { deliveries } = storage;
      expect(await deliveries.add([delivery('completed', '2026-05-04T08:00:02.000Z')])).to.equal(1);
      const late = [
        delivery('planning', '2026-05-04T08:00:01.000Z'),
        delivery('completed', '2026-05-04T08:00:02.000Z'),
      ];
      expect(await deliveries.missing(late)).to.have.length(1);
      expect(await deliveries.add(late)).to.equal(0);
      expect(await deliveries.add([delivery('undone', '2026-05-04T08:00:03.000Z')])).to.equal(1);
    });

    it('waits since it was seen', async () => {
      daemon.runList = [run('run_1', 'completed')];
      board.before = () => {
        throw new DeliveryFailed('cannot be reached');
      };
      expect(await sync.oldestMs()).to.equal(null);
      await sync.sync();
      await place.pass(5_000);
      expect(await sync.oldestMs()).to.equal(5_000);
    });
  });
}
