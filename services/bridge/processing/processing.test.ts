import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { BusError } from '#kit/bus/bus.ts';
import { codeOf } from '#kit/errors.ts';
import { silentLogger } from '#kit/log.ts';
import { queueConfig } from '../../../test/fixtures/bridge/queue-config.ts';
import { storageIn } from '../../../test/fixtures/bridge/storage-place.ts';
import { failure, toyPlanning } from '../../../test/fixtures/bridge/toy-planning.ts';
import { memoryBus } from '../../../test/fixtures/bus/memory-bus.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { EventQueue } from '../queue/event-queue.ts';
import { eventView, type NewEvent } from '../queue/stored-event.ts';
import { Processing, type ProcessingParts } from './processing.ts';

const config = { automatic: true, concurrency: 2 };

function event(number: number): NewEvent {
  return {
    event_id: `e${number}`,
    source: 'dashboard',
    body_sha256: `${number}`,
    content: {
      kind: 'issue.created',
      occurred_at: '2026-01-01T00:00:00Z',
      issue: { id: '42', title: 'x', status: 'todo', labels: [], url: null },
      actor: 'mi\u0000ra',
    },
    target: { forge: 'local', owner: 'demo', repo: 'hello', number },
    role: { key: 'ops', name: 'Steward' },
    skip: null,
    notes: [],
    by: 'token:bridge',
  };
}

describe('Processing an event', () => {
  let now: number;
  let queue: EventQueue;
  let closeStorage: () => Promise<void>;
  let processing: Processing;
  let planning: ReturnType<typeof toyPlanning>;
  let bus: ReturnType<typeof memoryBus>;
  let ended: string[];
  let waiters: (() => void)[];

  beforeEach(() => {
    now = 1_000_000;
    const storage = storageIn(temporaryFolder(), { now: () => now });
    closeStorage = () => storage.close();
    queue = new EventQueue(storage, queueConfig);
    planning = toyPlanning();
    bus = memoryBus();
    bus.connect('worker').register([planning.offered]);
    ended = [];
    waiters = [];
    processing = make();
  });
  afterEach(async () => {
    await processing.close();
    await closeStorage();
  });

  function make(more: Pick<ProcessingParts, 'missingMs'> = {}): Processing {
    return new Processing({
      ...more,
      queue,
      bus: bus.connect('bridge'),
      config,
      rights: { github: { by: 'write' }, gitea: { by: 'write' } },
      callMs: () => 100_000,
      logger: silentLogger,
      lookMs: 30_000,
      ended(one, outcome) {
        ended.push(`${one.event_id} ${outcome}`);
        for (const wake of waiters.splice(0)) wake();
      },
    });
  }

  async function untilEnded(count: number): Promise<void> {
    while (ended.length < count) await new Promise<void>((resolve) => waiters.push(resolve));
  }

  async function process(id?: string) {
    const taken = await processing.take(id);
    return taken === null ? null : taken.ended;
  }

  it('has its issue planned, and keeps the run', async () => {
    await queue.accept(event(1));
    expect(await process()).to.deep.include({ state: 'done', run_id: 'run_1', attempts: 0 });
    expect(planning.calls).to.deep.equal([
      {
        ...{ event_id: 'e1', owner: 'demo', repo: 'hello', number: 1, forge: 'local', role: 'Steward' },
        trigger: { kind: 'dashboard', event_id: 'e1', what: 'issue.created', actor: 'mi\u{fffd}ra' },
      },
    ]);
    expect(await process()).to.equal(null);
  });

  it('is tried again later, each time after a longer while, and dead after five attempts', async () => {
    await queue.accept(event(1));
    planning.answer = async () => failure({ code: 'forge_unavailable', status: 503, retryable: true });
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 5; attempt++) {
      const after = (await process())!;
      expect(after.attempts).to.equal(attempt);
      expect(after.reason).to.deep.equal({ code: 'forge_unavailable', message: 'said forge_unavailable' });
      expect(after.state).to.equal(attempt < 5 ? 'pending' : 'dead');
      if (attempt === 5) break;
      expect(await process()).to.equal(null);
      waits.push(after.due_at! - now);
      now = after.due_at!;
    }
    for (const [index, wait] of waits.entries())
      expect(wait).to.be.within(5_000 * 6 ** index * 0.8, 5_000 * 6 ** index * 1.2 + 1);
    expect(await process()).to.equal(null);
  });

  it('of an issue that is closed or fixed is skipped: nothing is to be done, and nothing went wrong', async () => {
    for (const [index, code] of ['issue_closed', 'issue_fixed'].entries()) {
      await queue.accept(event(index));
      planning.answer = async () => failure({ code, status: 422, retryable: false }, 'run_1');
      const after = (await process())!;
      expect(after).to.deep.include({ state: 'skipped', attempts: 1, due_at: null });
      expect(after.reason!.code).to.equal(code);
    }
    expect(ended.every((line) => line.includes('skipped'))).to.equal(true);
    expect((await queue.backlog(now)).died).to.equal(0);
  });

  it('of a smoke test that fails waits for nobody, and is in no list', async () => {
    const target = { forge: 'core-smoke', owner: 'core-smoke', repo: 'demo', number: 1 };
    planning.answer = async () => failure({ code: 'forge_unavailable', status: 503, retryable: true });
    await queue.accept({ ...event(1), target });
    await queue.accept(event(2));
    expect((await queue.list({ limit: 10 })).events.map(({ event_id }) => event_id)).to.deep.equal(['e2']);
    expect((await queue.list({ state: 'pending', limit: 10 })).events).to.have.length(1);
    const after = await process('e1');
    expect(after).to.deep.include({ state: 'skipped', attempts: 1, due_at: null });
    expect(after!.reason!.code).to.equal('forge_unavailable');
    expect((await queue.get('e1')).state).to.equal('skipped');
    expect((await queue.list({ state: 'skipped', limit: 10 })).events).to.deep.equal([]);
    expect((await queue.backlog(now)).died).to.equal(0);
  });

  it('uses up no attempt while nobody provides the planning, and is planned when somebody does', async () => {
    await queue.accept(event(1));
    bus = memoryBus();
    processing = make({ missingMs: 1 });
    for (let round = 0; round < 10; round++) {
      const after = (await process())!;
      expect(after).to.deep.include({ state: 'pending', attempts: 0, due_at: now + 30_000 });
      expect(after.reason?.code).to.equal('function_not_found');
      expect(eventView(after).retry_at).to.equal(new Date(now + 30_000).toISOString());
      expect(await process()).to.equal(null);
      now = after.due_at!;
    }
    bus.connect('worker').register([planning.offered]);
    expect(await process()).to.deep.include({ state: 'done', run_id: 'run_1', reason: null });
  });

  it('is dead at once where no attempt can help', async () => {
    await queue.accept(event(1));
    planning.answer = async () => failure({ code: 'role_does_not_plan', status: 422, retryable: false });
    expect(await process()).to.deep.include({ state: 'dead', attempts: 1, run_id: null });
  });

  it('outlives a configuration that cannot be read', async () => {
    await queue.accept(event(1));
    planning.answer = async () => failure({ code: 'config_invalid', status: 400, retryable: false });
    const after = (await process())!;
    expect(after).to.deep.include({ state: 'pending', attempts: 0, due_at: now + 30_000 });
    planning.answer = null;
    now = after.due_at!;
    expect(await process()).to.include({ state: 'done' });
  });

  it('may have been reported too early to be found, and is tried again', async () => {
    await queue.accept(event(1));
    planning.answer = async () => failure({ code: 'issue_not_found', status: 404, retryable: false });
    expect(await process()).to.include({ state: 'pending' });
  });

  it('names the run that failed, and gets another one when a person wants it', async () => {
    await queue.accept(event(1));
    const bound = { code: 'planner_bound_reached', status: 422, retryable: false };
    planning.answer = async () => failure(bound, 'run_failed');
    expect(await process()).to.deep.include({ state: 'dead', run_id: 'run_failed' });
    planning.answer = null;
    await queue.revive('e1');
    expect(await process()).to.deep.include({ state: 'done', run_id: 'run_1' });
    expect(planning.calls.map(({ event_id }) => event_id)).to.deep.equal(['e1', 'e1~2']);
  });

  it('is not undone by an answer that is none', async () => {
    await queue.accept(event(1));
    planning.answer = async () => ({ ok: true }) as never;
    const after = await process();
    expect(after).to.include({ state: 'pending', attempts: 1 });
    expect(after?.reason?.code).to.equal('result_invalid');
  });

  it('calls again when the worker was lost, and joins the run that was made', async () => {
    await queue.accept(event(1));
    let calls = 0;
    planning.answer = async ({ event_id }) => {
      (planning.runs as Map<string, string>).set(event_id, 'run_made');
      if (++calls < 3) throw new BusError('invocation_stopped', 'gone');
      return undefined;
    };
    expect(await process()).to.deep.include({ state: 'done', run_id: 'run_made', attempts: 0 });
    expect(calls).to.equal(3);
  });

  it('is pending again when this process ends before the planning does', async () => {
    await queue.accept(event(1));
    planning.answer = () => new Promise(() => {});
    const taken = (await processing.take())!;
    await processing.close();
    expect(await taken.ended).to.include({ state: 'pending', attempts: 0 });
  });

  it('waits for the bus, and says so', async () => {
    await queue.accept(event(1));
    bus.stop();
    const refused = await processing.take().catch(codeOf);
    expect(refused).to.equal('bus_not_connected');
    expect((await queue.get('e1')).state).to.equal('pending');
  });

  it('goes by itself where that is switched on, with as many at once as allowed', async () => {
    let most = 0;
    let atOnce = 0;
    planning.answer = async () => {
      most = Math.max(most, ++atOnce);
      await setTimeout(20);
      atOnce--;
      return undefined;
    };
    for (let number = 1; number <= 10; number++) await queue.accept(event(number));
    await bus.connect('probe').whenConnected(60_000);
    processing.begin();
    await untilEnded(10);
    expect(await queue.counts()).to.include({ done: 10, pending: 0 });
    expect(most).to.equal(2);
    await queue.accept(event(11));
    processing.wake();
    await untilEnded(11);
    expect((await queue.get('e11')).state).to.equal('done');
  });
});
