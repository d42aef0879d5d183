import { expect } from 'chai';
import type { Bus, BusCall, BusFunction } from '#kit/bus/bus.ts';
import { callWithRetry } from '#kit/bus/call-with-retry.ts';
import { NotFound } from '#kit/errors.ts';
import { until } from '../fixtures/until.ts';

/** A bus that a test can stop and start again. */
export interface BusWorld {
  connect(name: string): Bus;
  /** Loses every connection. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

type Handle = BusFunction['handle'];

/** What every bus does for its clients. Functions are called `test.…`: names that any token may register. */
export function busContract(open: () => Promise<BusWorld>): void {
  let world: BusWorld;
  let buses: Bus[];

  beforeEach(async () => {
    buses = [];
    world = await open();
  });

  afterEach(async () => {
    for (const bus of buses) await bus.close();
    await world.close();
  });

  function connect(name: string): Bus {
    const bus = world.connect(name);
    buses.push(bus);
    return bus;
  }

  /** Resolves when the function can be called. */
  async function offer(handles: Readonly<Record<string, Handle>>): Promise<Bus> {
    const bus = connect('provider');
    bus.register(
      Object.entries({ 'test.here': async () => true, ...handles }).map(([id, handle]) => ({
        id,
        description: `what ${id} does`,
        request: { type: 'object' },
        response: {},
        handle,
      })),
    );
    await callWithRetry(bus, 'test.here', {}, { withinMs: 60_000 });
    return bus;
  }

  it('calls a function of another with its data, and gives its result', async () => {
    await offer({ 'test.echo': async (data) => data });
    const caller = connect('caller');
    for (const data of [{ a: [1, 'ä', null] }, [1, 2], 'text', 7, false])
      expect(await caller.call('test.echo', data)).to.deep.equal(data);
    expect(await caller.call('test.echo', undefined)).to.deep.equal({});
  });

  it('says who calls, apart from the data, and hands the trace on', async () => {
    const calls: { data: unknown; caller: BusCall['caller']; traceparent: BusCall['traceparent'] }[] = [];
    await offer({
      async 'test.look'(data, { caller, traceparent }) {
        calls.push({ data, caller, traceparent });
      },
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await connect('caller').call('test.look', { a: 1 }, { traceparent })).to.equal(null);
    expect(calls).to.have.lengthOf(1);
    expect(calls[0]).to.deep.include({ data: { a: 1 }, traceparent });
    expect(calls[0]!.caller).to.be.a('string').that.is.not.empty;
  });

  it('runs calls at the same time, each with its own answer', async () => {
    let arrived = 0;
    const all = Promise.withResolvers<void>();
    await offer({
      async 'test.together'(data) {
        if (++arrived === 20) all.resolve();
        await all.promise;
        return data;
      },
    });
    const caller = connect('caller');
    const given = Array.from({ length: 20 }, (_, n) => ({ n }));
    const got = await Promise.all(given.map((data) => caller.call('test.together', data)));
    expect(got).to.deep.equal(given);
  });

  it('reports a function that nobody provides as an error worth another try', async () => {
    const error = await failure(connect('caller').call('test.nobody', {}));
    expect(error).to.include({ code: 'function_not_found', retryable: true });
    expect(error.message).to.contain('test.nobody');
  });

  it('reports that a handler failed, without its secrets if it failed by accident', async () => {
    await offer({
      async 'test.bug'() {
        throw new Error('a secret');
      },
      async 'test.domain'() {
        throw new NotFound('thing_not_found', 'there is no thing');
      },
    });
    const caller = connect('caller');
    const bug = await failure(caller.call('test.bug', {}));
    expect(bug).to.include({ code: 'invocation_failed', retryable: false });
    expect(bug.message).to.not.contain('secret');
    const domain = await failure(caller.call('test.domain', {}));
    expect(domain).to.include({ code: 'thing_not_found', retryable: false });
    expect(domain.message).to.contain('there is no thing');
  });

  it('ends a call at its time and by its signal', async () => {
    await offer({ 'test.never': () => new Promise(() => {}) });
    const caller = connect('caller');
    await caller.whenConnected(60_000);
    const late = await failure(caller.call('test.never', {}, { timeoutMs: 30 }));
    expect(late).to.include({ code: 'TIMEOUT', retryable: true });
    const stop = new AbortController();
    const stopped = caller.call('test.never', {}, { signal: stop.signal });
    stop.abort();
    expect(await failure(stopped)).to.include({ code: 'interrupted' });
  });

  it('fails calls whose worker leaves, and forgets its functions', async () => {
    const started = Promise.withResolvers<void>();
    const provider = await offer({
      'test.never'() {
        started.resolve();
        return new Promise(() => {});
      },
    });
    const caller = connect('caller');
    const call = failure(caller.call('test.never', {}));
    await started.promise;
    await provider.close();
    expect(await call).to.include({ code: 'invocation_stopped', retryable: true });
    await forgotten(caller, 'test.here');
  });

  it('fails what was under way when the connection is lost, and works again after', async () => {
    const started = Promise.withResolvers<void>();
    let sleeps = true;
    await offer({
      'test.nap'() {
        started.resolve();
        return sleeps ? new Promise(() => {}) : Promise.resolve('awake');
      },
    });
    const caller = connect('caller');
    const lost = failure(caller.call('test.nap', {}));
    await started.promise;
    await world.stop();
    const error = await lost;
    expect(error.retryable).to.equal(true);
    expect(error.code).to.be.oneOf(['connection_lost', 'invocation_stopped']);
    sleeps = false;
    const waiting = callWithRetry(caller, 'test.nap', {}, { withinMs: 60_000 });
    await world.start();
    expect(await waiting).to.equal('awake');
  });

  it('says that it is not connected while there is no bus, and when it is again', async () => {
    const bus = connect('caller');
    await bus.whenConnected(60_000);
    expect(bus.connected).to.equal(true);
    await world.stop();
    await until('the loss of the connection', () => !bus.connected);
    expect(await failure(bus.whenConnected(5))).to.include({ code: 'not_connected', retryable: true });
    expect(await failure(bus.call('test.any', {}, { timeoutMs: 5 }))).to.include({ code: 'not_connected' });
    await world.start();
    await bus.whenConnected(60_000);
    expect(bus.connected).to.equal(true);
  });

  it('takes no calls after it was closed, and ends those that wait', async () => {
    await offer({ 'test.never': () => new Promise(() => {}) });
    const caller = connect('caller');
    await caller.whenConnected(60_000);
    const waiting = failure(caller.call('test.never', {}));
    await caller.close();
    expect(await waiting).to.include({ code: 'bus_closed', retryable: false });
    expect(await failure(caller.call('test.never', {}))).to.include({ code: 'bus_closed' });
    await caller.close();
  });

  it('aborts its handlers when it is closed', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const provider = await offer({
      'test.long'(_data, { signal }) {
        started.resolve(signal);
        return new Promise(() => {});
      },
    });
    const call = failure(connect('caller').call('test.long', {}));
    const signal = await started.promise;
    expect(signal.aborted).to.equal(false);
    await provider.close();
    expect(signal.aborted).to.equal(true);
    expect(await call).to.include({ code: 'invocation_stopped' });
  });

  it('refuses ids that are empty or registered already', async () => {
    const bus = await offer({});
    const again = { id: 'test.here', description: '', request: {}, response: {}, handle: async () => 1 };
    expect(() => bus.register([again])).to.throw(TypeError);
    expect(() => bus.register([{ ...again, id: '' }])).to.throw(TypeError);
  });
}

/** The bus may need a moment to see that a worker is gone. */
async function forgotten(caller: Bus, id: string): Promise<void> {
  for (;;) {
    const error = await failure(caller.call(id, {}));
    if (error.code === 'function_not_found') return;
    expect(error.code).to.equal('invocation_stopped');
  }
}

async function failure(work: Promise<unknown>): Promise<Error & { code: string; retryable: boolean }> {
  try {
    await work;
  } catch (error) {
    return error as Error & { code: string; retryable: boolean };
  }
  throw new Error('it did not fail');
}
