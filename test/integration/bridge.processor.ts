import { byWebhookForge } from '#kit/forges/registry.ts';
import { silentLogger } from '#kit/log.ts';
import { Processing } from '../../services/bridge/processing/processing.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import { storageIn } from '../fixtures/bridge/storage-place.ts';
import { ToyDaemon } from '../fixtures/bridge/toy-daemon.ts';
import { toyPlanning } from '../fixtures/bridge/toy-planning.ts';
import { memoryBus } from '../fixtures/bus/memory-bus.ts';
import { killedEvent, type ToParent, type ToProcessor } from './bridge.messages.ts';

/**
 * The bridge without its HTTP interface, to be killed: `<state folder> <settings of a database, as JSON> <mode> <event ids>`.
 * Plans, and dashboards, are on the other side of its channel, so that they outlive it.
 */
const [state = '', postgres = 'null', mode = 'process', ...ids] = process.argv.slice(2);
const storage = storageIn(JSON.parse(postgres) ?? state, { leaseMs: 1_000 });
const queue = new EventQueue(storage, queueConfig);

function report(message: ToParent): void {
  process.send!(message);
}

const answers = new Map<string, (run_id: string) => void>();
process.on('message', (message: ToProcessor) => {
  if ('run_id' in message) answers.get(message.for)?.(message.run_id);
});

if (mode === 'process') await processAll();
if (mode === 'sync') await syncOnce();
if (mode === 'tick') await tickOnce();
if (mode === 'catch-up') await catchUpOnce();

/** Events that are not at their end. */
async function left(): Promise<number> {
  const { pending, processing } = await queue.counts();
  return pending + processing;
}

async function processAll(): Promise<void> {
  const bus = memoryBus();
  const planning = toyPlanning();
  planning.answer = ({ event_id }) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    answers.set(event_id, resolve);
    report({ plan: event_id });
    return promise.then((run_id) => ({
      ...{ ok: true as const, run_id, status: 'awaiting_approval' as const, created: true, actions: 7 },
    }));
  };
  bus.connect('worker').register([planning.offered]);
  const own = bus.connect('bridge');
  await own.whenConnected(60_000);
  const config = {
    automatic: true,
    concurrency: 2,
    attempts: 5,
    first_retry_seconds: 1,
    most_retry_seconds: 1,
  };
  const processing = new Processing({
    queue,
    bus: own,
    config,
    rights: { github: { by: 'write' }, gitea: { by: 'write' } },
    callMs: () => 60_000,
    logger: silentLogger,
    lookMs: 1_000,
    ended({ event_id }) {
      void left().then((count) => report({ ended: event_id, left: count }));
    },
  });
  report({ left: (await queue.counts()).pending });
  processing.begin();
  await Promise.all(
    ids.map(async (id) => {
      await queue.accept(killedEvent(id));
      report({ accepted: id });
      processing.wake();
    }),
  );
}

async function syncOnce(): Promise<void> {
  const { Sync } = await import('../../services/bridge/sync/sync.ts');
  const daemon = new ToyDaemon();
  const at = new Date().toISOString();
  daemon.runList = ids.map((run_id) => ({
    ...{ run_id, status: 'completed', forge: 'local', owner: 'demo', repo: 'hello', number: 1, title: 't' },
    ...{
      role: 'Depute',
      created_at: at,
      updated_at: at,
      highest_risk: null,
      waiting: 0,
      waits_for: null,
      actions: 0,
    },
  }));
  const board = {
    name: 'board',
    async deliver({ key }: { key: string }) {
      const { promise, resolve } = Promise.withResolvers<string>();
      answers.set(key, resolve);
      report({ delivered: key });
      await promise;
    },
    async close() {},
  };
  const sync = new Sync({
    ...{ deliveries: storage.deliveries, deliveryJobs: storage.deliveryJobs },
    dashboards: [board],
    daemon,
    queue,
    config: { seconds: 60, days: 30, attempts: 3, dashboards: [] },
    logger: silentLogger,
    observe: () => {},
  });
  await sync.sync();
  report({ left: 0 });
}

async function tickOnce(): Promise<void> {
  const { Schedules } = await import('../../services/bridge/schedules/schedules.ts');
  const { readRoleMap } = await import('../../services/bridge/targets/role-map.ts');
  const daemon = new ToyDaemon();
  const at = '2026-01-01T00:00:00Z';
  daemon.issueList = ids.map((_, index) => ({
    ...{ number: index + 1, title: 't', state: 'open', author: 'a', labels: [] },
    ...{ created_at: at, updated_at: at, html_url: null, planned: null },
  }));
  const rows = storage.schedules;
  const schedule = {
    name: 'always',
    cron: '* * * * *',
    zone: 'UTC',
    enabled: true,
    forge: null,
    owner: 'demo',
  };
  const schedules = new Schedules({
    schedules: [
      { ...schedule, repo: 'hello', label: null, state: 'open', limit: 10, role: null, task: null },
    ],
    rows,
    daemon,
    queue,
    roles: readRoleMap({ config: state }),
    logger: silentLogger,
    made: () => {},
  });
  const { due, events } = await schedules.tick();
  report({ left: (await queue.counts()).pending, due: due.length, events });
}

/** What changed on a forge while the bridge was away: an issue for each id. */
async function catchUpOnce(): Promise<void> {
  const { CatchUp } = await import('../../services/bridge/sync/catch-up.ts');
  const { ForgeWebhookSource } = await import('../../services/bridge/ingress/forge-webhook-source.ts');
  const { readRoleMap } = await import('../../services/bridge/targets/role-map.ts');
  const daemon = new ToyDaemon();
  const at = '2026-05-04T10:00:00Z';
  daemon.changes = ids.map((id, index) => ({
    ...{ number: index + 1, title: id, state: 'open', author: 'mira', labels: [], body_sha256: id },
    ...{ created_at: at, updated_at: at, html_url: null, reopened_at: null, planned_at: null },
  }));
  const config = { secret: null, forge: null, label: null, actions: ['opened'], by: 'write' as const };
  const forges = [{ name: 'work', kind: 'gitea' as const, base: new URL('https://gitea.test'), root: null }];
  const common = { config, roleLabel: null, secret: null, forges, roles: readRoleMap({ config: state }) };
  const catchUp = new CatchUp({
    rows: storage.catchUps,
    daemon,
    queue,
    forges,
    sources: byWebhookForge((kind) => new ForgeWebhookSource({ ...common, kind })),
    stored: () => {},
  });
  const wanted = { forge: 'work', owner: 'demo', repo: 'hello', since: '2026-05-04T00:00:00Z' };
  const { new: fresh, known } = await catchUp.catchUp(wanted, AbortSignal.timeout(60_000));
  report({ left: (await queue.counts()).pending, events: fresh, known });
}
