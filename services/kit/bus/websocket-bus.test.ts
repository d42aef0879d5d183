import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { WebSocketServer } from 'ws';
import {
  type AnyFrame,
  type Connection,
  type SmallEngine,
  type SmallEngineOptions,
  startSmallEngine,
} from '../../../test/fixtures/bus/small-engine.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../../../test/fixtures/self-signed.ts';
import { until } from '../../../test/fixtures/until.ts';
import { itWith } from '../../../test/needs.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { NotFound } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Bus, BusFunction } from './bus.ts';
import { busLimits, defaultTiming, waitBefore } from './bus-connection.ts';
import { type BusOptions, connectBus } from './websocket-bus.ts';

interface Said {
  readonly level: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
}

describe('the client of the bus', () => {
  const open: { close(): Promise<void> }[] = [];
  let said: Said[] = [];

  beforeEach(() => {
    said = [];
  });

  afterEach(async () => {
    for (const thing of open.splice(0).toReversed()) await thing.close();
  });

  async function engine(options: SmallEngineOptions = {}): Promise<SmallEngine> {
    const started = await startSmallEngine(options);
    open.push(started);
    return started;
  }

  function connect(url: BusOptions['url'], options: Partial<BusOptions> = {}): Bus {
    const at = (level: string) => (message: string, facts?: Said['facts']) =>
      void said.push({ level, message, facts });
    const logger: Logger = {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      child: () => logger,
    };
    const timing = { firstWaitMs: 1, maxWaitMs: 20, ...options.timing };
    const bus = connectBus({ token: null, name: 'tested', logger, ...options, url, timing });
    open.push(bus);
    return bus;
  }

  it('introduces itself first, then registers functions and triggers, then calls', async () => {
    const { url, seen } = await engine();
    const bus = connect(url);
    bus.register([echo('test.echo')], [{ type: 'cron', function_id: 'test.echo', config: { a: 1 } }]);
    await bus.call('test.echo', { n: 1 });
    const { frames } = await seen(({ frames }) => frames.length >= 4);
    expect(frames.slice(0, 4).map(({ type }) => type)).to.deep.equal([
      'invokefunction',
      'registerfunction',
      'registertrigger',
      'invokefunction',
    ]);
    expect(frames[0]).to.deep.include({
      function_id: 'engine::workers::register',
      action: { type: 'void' },
    });
    expect(frames[0]!.data).to.include({ name: 'tested', runtime: 'node', pid: process.pid });
    expect(frames[1]).to.deep.include({
      id: 'test.echo',
      description: 'gives back',
      request_format: { type: 'object' },
      response_format: { type: 'object' },
    });
    expect(frames[2]).to.deep.include({
      trigger_type: 'cron',
      function_id: 'test.echo',
      config: { a: 1 },
    });
  });

  it('sends its token, and none where it has none', async () => {
    const { url, seen } = await engine();
    await connect(url, { token: 'secret' }).whenConnected(60_000);
    expect((await seen(() => true)).headers.authorization).to.equal('Bearer secret');
    await connect(url, { token: null }).whenConnected(60_000);
    expect((await seen(({ headers }) => headers.authorization === undefined)).headers).to.not.have.property(
      'authorization',
    );
  });

  itWith(
    ['openssl'],
    'trusts the certificate that it is given over TLS, and says of another why not',
    async () => {
      const { key_file, certificate_file } = makeSelfSigned(temporaryFolder());
      const [key, cert] = [key_file, certificate_file].map((path) => readFileSync(path, 'utf8'));
      const server = createServer({ key, cert });
      new WebSocketServer({ server }).on('connection', (socket) => {
        socket.send('{"type":"workerregistered","worker_id":"one"}');
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      open.push({
        async close() {
          server.close();
          server.closeAllConnections();
        },
      });
      const url = `wss://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await connect(url, { ca: cert! }).whenConnected(60_000);
      const refused = Promise.withResolvers<string>();
      connect(url, { failed: refused.resolve });
      expect(await refused.promise).to.match(/self[- ]signed certificate/);
    },
  );

  it('says why it is not connected, and asks again for address and token', async () => {
    const { url, attempts } = await engine({
      refuses: ({ authorization }) => (authorization === 'Bearer new' ? null : 401),
    });
    let token = 'old';
    const bus = connect(() => url, { token: () => token });
    await until('a second attempt', () => attempts() >= 2);
    const refused = await failure(bus.whenConnected(1));
    expect(refused).to.include({ code: 'not_connected', retryable: true });
    expect(refused.message).to.contain(`${url} refused the connection with status 401`);
    expect(bus.connected).to.equal(false);
    token = 'new';
    await bus.whenConnected(60_000);
    expect(bus.connected).to.equal(true);
  });

  it('keeps trying if its address cannot be resolved or nothing listens there', async () => {
    const port = await freePort();
    let known = false;
    const bus = connect(() => {
      if (!known) throw new NotFound('address_unknown', 'nobody knows');
      return `ws://127.0.0.1:${port}`;
    });
    expect((await failure(bus.whenConnected(1))).message).to.contain('nobody knows');
    known = true;
    const called = bus.call('test.echo', { n: 1 });
    await engine({ port });
    expect(await failure(called)).to.include({ code: 'function_not_found', retryable: true });
    expect(said.filter(({ level }) => level === 'warn').length).to.be.lessThan(10);
  });

  it('names what kept a call from being sent when its time is over', async () => {
    const port = await freePort();
    const bus = connect(`ws://127.0.0.1:${port}`);
    await until('a warning', () => said.length > 0);
    const error = await failure(bus.call('test.echo', {}, { timeoutMs: 5 }));
    expect(error).to.include({ code: 'not_connected', retryable: true });
    expect(error.message).to.match(/^test\.echo could not be called within 5 ms: .*ECONNREFUSED/);
  });

  it('fails calls that were sent when the connection is lost, and sends those that waited', async () => {
    const { url, seen } = await engine({ takes: ({ function_id }) => function_id === 'test.never' });
    const bus = connect(url);
    await bus.whenConnected(60_000);
    const sent = bus.call('test.never', {});
    const first = await seen(({ frames }) => frames.some(({ function_id }) => function_id === 'test.never'));
    first.cut();
    expect(await failure(sent)).to.include({ code: 'connection_lost', retryable: true });
    const waiting = bus.call('test.nobody', {});
    expect(await failure(waiting)).to.include({ code: 'function_not_found' });
  });

  it('proves whose the connection was before, and registers everything again', async () => {
    const { url, seen } = await engine();
    const bus = connect(url);
    bus.register([echo('test.echo')], [{ type: 'cron', function_id: 'test.echo', config: {} }]);
    const first = await seen(({ frames }) => frames.length === 3);
    const triggerId = first.frames[2]!.id;
    first.cut();
    const second = await seen((connection) => connection !== first && connection.frames.length >= 4);
    expect(second.frames.map(({ type }) => type)).to.deep.equal([
      'reattach',
      'invokefunction',
      'registerfunction',
      'registertrigger',
    ]);
    expect(second.frames[0]).to.deep.equal({
      type: 'reattach',
      previous_worker_id: first.id,
      reattach_token: `secret of ${first.id}`,
    });
    expect(second.frames[3]!.id).to.equal(triggerId);
  });

  it('sends what a handler gave while there was no connection', async () => {
    let away = false;
    const { url, seen } = await engine({ refuses: () => (away ? 503 : null) });
    const bus = connect(url);
    const finish = Promise.withResolvers<void>();
    bus.register([
      {
        ...echo('test.slow'),
        async handle() {
          await finish.promise;
          return { done: true };
        },
      },
    ]);
    const first = await seen(({ frames }) => frames.length === 2);
    first.send({ type: 'invokefunction', invocation_id: 'one', function_id: 'test.slow', data: {} });
    first.send({ type: 'ping' });
    await seen(({ frames }) => frames.some(({ type }) => type === 'pong'));
    away = true;
    first.cut();
    await until('the loss of the connection', () => !bus.connected);
    finish.resolve();
    await new Promise(setImmediate);
    away = false;
    const second = await seen(
      (connection) =>
        connection !== first && connection.frames.some(({ type }) => type === 'invocationresult'),
    );
    expect(second.frames.find(({ type }) => type === 'invocationresult')).to.deep.include({
      invocation_id: 'one',
      result: { done: true },
    });
  });

  it('gives handlers their data without what the bus added, and the caller beside it', async () => {
    const { url } = await engine();
    const provider = connect(url);
    const got: unknown[] = [];
    provider.register([
      {
        ...echo('test.look'),
        async handle(data, { caller, traceparent }) {
          got.push(data, typeof caller, traceparent);
          return data;
        },
      },
    ]);
    await provider.whenConnected(60_000);
    const caller = connect(url);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await caller.call('test.look', { a: 1 }, { traceparent })).to.deep.equal({ a: 1 });
    expect(await caller.call('test.look', [1])).to.deep.equal([1]);
    expect(got).to.deep.equal([{ a: 1 }, 'string', traceparent, [1], 'object', null]);
  });

  it('answers for handlers that throw, results that are no JSON or too large, and functions that it lacks', async () => {
    const { url, seen } = await engine();
    const bus = connect(url);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const handles: Record<string, () => unknown> = {
      'test.bug': () => (undefined as unknown as { a: number }).a,
      'test.domain': () => {
        throw new NotFound('thing_not_found', 'there is no thing');
      },
      'test.circular': () => circular,
      'test.large': () => 'x'.repeat(busLimits.frameBytes),
      'test.nothing': () => undefined,
    };
    bus.register(
      Object.entries(handles).map(([id, handle]) => ({ ...echo(id), handle: async () => handle() })),
    );
    const connection = await seen(({ frames }) => frames.length === 6);
    const ids = [...Object.keys(handles), 'test.unknown'];
    for (const id of ids)
      connection.send({ type: 'invokefunction', invocation_id: id, function_id: id, data: {} });
    await seen(({ frames }) => results(frames).length === ids.length);
    const answers = new Map(results(connection.frames).map((frame) => [frame.invocation_id, frame]));
    const code = (id: string) => (answers.get(id)!.error as { code: string }).code;
    expect(ids.filter((id) => id !== 'test.nothing').map(code)).to.deep.equal([
      'invocation_failed',
      'thing_not_found',
      'serialization_error',
      'result_too_large',
      'function_not_found',
    ]);
    expect(JSON.stringify(answers.get('test.bug')!.error)).to.not.match(/undefined|at /);
    expect(answers.get('test.nothing')).to.have.property('result', null);
  });

  it('answers nobody who does not wait', async () => {
    const { url, seen } = await engine();
    const bus = connect(url);
    const called = Promise.withResolvers<unknown>();
    bus.register([
      {
        ...echo('test.void'),
        async handle(data) {
          called.resolve(data);
          return 1;
        },
      },
    ]);
    const connection = await seen(({ frames }) => frames.length === 2);
    connection.send({ type: 'invokefunction', function_id: 'test.void', data: { v: 1 } });
    expect(await called.promise).to.deep.equal({ v: 1 });
    connection.send({ type: 'ping' });
    const { frames } = await seen(({ frames }) => frames.some(({ type }) => type === 'pong'));
    expect(results(frames)).to.deep.equal([]);
  });

  it('lives through frames that are none, and answers to calls that nobody made', async () => {
    const { url, seen } = await engine();
    const bus = connect(url);
    const connection = await seen(({ frames }) => frames.length === 1);
    for (const text of ['', '{', '[]', '7', 'null', '{"type":"later","x":1}', '{"type":"invokefunction"}'])
      connection.send(text);
    connection.socket.send(Buffer.from([0, 1, 2]), { binary: true });
    connection.send({ type: 'invocationresult', invocation_id: 'forged', function_id: 'x', result: 1 });
    connection.send({ type: 'workerregistered', worker_id: 'another' });
    connection.send({ type: 'ping' });
    await seen(({ frames }) => frames.some(({ type }) => type === 'pong'));
    expect(bus.connected).to.equal(true);
  });

  /** What an engine lists, in the words of the protocol. */
  function answersLists(functions: () => readonly string[], triggers: () => readonly unknown[]) {
    return ({ type, function_id, invocation_id }: AnyFrame, from: Connection): boolean => {
      const lists: Readonly<Record<string, () => unknown>> = {
        'engine::functions::list': () => ({ functions: functions().map((id) => ({ function_id: id })) }),
        'engine::registered-triggers::list': () => ({
          registered_triggers: triggers().map((id) => ({ id })),
        }),
      };
      const list = lists[String(function_id)];
      if (type !== 'invokefunction' || list === undefined) return false;
      from.send({ type: 'invocationresult', invocation_id, function_id, result: list() });
      return true;
    };
  }

  const registeredIn = (frames: readonly AnyFrame[]) =>
    frames.filter(({ type }) => type === 'registerfunction').map(({ id }) => id);

  it('registers again what the bus refused, and says why once', async () => {
    let refusals = 0;
    const lists = answersLists(
      () => (refusals < 4 ? ['core.free'] : ['core.free', 'core.taken']),
      () => [],
    );
    const { url, seen } = await engine({
      takes(frame, from) {
        const { type, id } = frame;
        if (type !== 'registerfunction' || id !== 'core.taken' || refusals++ > 2) return lists(frame, from);
        from.send({ type: 'registrationrejected', code: 'OWNED', message: 'not yours', function_id: id });
        return true;
      },
    });
    const bus = connect(url, { timing: { recheckMs: 5 } });
    bus.register([echo('core.taken'), echo('core.free')]);
    const { frames } = await seen((connection) => registeredIn(connection.frames).length === 5);
    expect(registeredIn(frames)).to.deep.equal(['core.taken', 'core.free', ...Array(3).fill('core.taken')]);
    const problems = said.filter(({ level }) => level === 'error' || level === 'warn');
    expect(problems.map(({ message }) => message)).to.deep.equal(['the bus refuses core.taken']);
  });

  it('registers again what the bus has dropped because another worker with it stopped', async () => {
    let kept = ['core.one', 'core.two'];
    const triggers: unknown[] = [];
    const lists = answersLists(
      () => kept,
      () => triggers,
    );
    const { url, seen } = await engine({
      takes(frame, from) {
        if (frame.type === 'registerfunction' && !kept.includes(String(frame.id)))
          kept.push(String(frame.id));
        if (frame.type === 'registertrigger') triggers.push(frame.id);
        return lists(frame, from);
      },
    });
    const bus = connect(url, { timing: { recheckMs: 5 } });
    bus.register(
      [echo('core.one'), echo('core.two')],
      [{ type: 'cron', function_id: 'core.two', config: {} }],
    );
    const asked = (frames: readonly AnyFrame[]) =>
      frames.filter(({ function_id }) => function_id === 'engine::registered-triggers::list').length;
    await seen(({ frames }) => asked(frames) === 2);
    kept = ['core.two'];
    triggers.length = 0;
    const { frames } = await seen((connection) => registeredIn(connection.frames).length === 3);
    await until('the trigger', () => triggers.length === 1);
    expect(registeredIn(frames)).to.deep.equal(['core.one', 'core.two', 'core.one']);
    expect(kept).to.deep.equal(['core.two', 'core.one']);
    const [warning] = said.filter(({ level }) => level === 'warn');
    expect(warning).to.deep.include({ facts: { ids: ['core.one', 'core.two'] } });
  });

  it('waits less than 2 s between attempts to connect', () => {
    const waits = Array.from({ length: 200 }, (_, failures) => waitBefore(failures, defaultTiming));
    expect(Math.max(...waits)).to.be.below(2_000);
  });

  it('leaves a connection from which nothing comes any more', async () => {
    const { url, seen } = await engine({ answersPings: false });
    const lost: boolean[] = [];
    const bus = connect(url, { timing: { pingMs: 10 }, watch: (connected) => void lost.push(connected) });
    await bus.whenConnected(60_000);
    const first = await seen(() => true);
    await seen((connection) => connection !== first);
    expect(lost.slice(0, 2)).to.deep.equal([true, false]);
    expect(said.some(({ facts }) => /nothing came from the bus/.test(String(facts?.reason)))).to.equal(true);
  });

  it('keeps a silent connection whose pings are answered', async () => {
    const { url, connections } = await engine();
    const bus = connect(url, { timing: { pingMs: 100 } });
    await bus.whenConnected(60_000);
    const [connection] = connections;
    let pings = 0;
    const enough = new Promise<void>((resolve) => {
      connection!.socket.on('ping', () => {
        if (++pings === 6) resolve();
      });
    });
    await enough;
    expect(bus.connected).to.equal(true);
    expect(connections.length).to.equal(1);
  });

  it('leaves a bus that does not greet', async () => {
    const silent = await engine({ greets: false });
    const bus = connect(silent.url, { timing: { openingMs: 20 } });
    await until('a second attempt', () => silent.attempts() >= 2);
    expect((await failure(bus.whenConnected(1))).message).to.match(/did not greet/);
  });

  it('reports what the bus says before it closes', async () => {
    const { url } = await engine({ greets: false });
    const bus = connect(url);
    const refusing = await engine({ greets: false });
    await bus.close();
    const other = connect(refusing.url);
    const connection = await refusing.seen(() => true);
    connection.send({ type: 'error', error: { code: 'AUTH_ERROR', message: 'who are you' } });
    connection.socket.close();
    await refusing.seen((next) => next !== connection);
    expect((await failure(other.whenConnected(1))).message).to.contain('AUTH_ERROR: who are you');
  });

  it('ends a call at its time, by its signal, and all of them when it is closed', async () => {
    const { url } = await engine({ takes: ({ function_id }) => function_id === 'test.never' });
    const bus = connect(url);
    await bus.whenConnected(60_000);
    expect(await failure(bus.call('test.never', {}, { timeoutMs: 20 }))).to.include({
      code: 'TIMEOUT',
      retryable: true,
    });
    const stop = new AbortController();
    const stopped = bus.call('test.never', {}, { signal: stop.signal });
    stop.abort();
    expect(await failure(stopped)).to.include({ code: 'interrupted' });
    expect(await failure(bus.call('test.never', {}, { signal: stop.signal }))).to.include({
      code: 'interrupted',
    });
    const unanswered = bus.call('test.never', {});
    const [error] = await Promise.all([failure(unanswered), bus.close()]);
    expect(error).to.include({ code: 'bus_closed', retryable: false });
    expect(await failure(bus.call('test.never', {}))).to.include({ code: 'bus_closed' });
    expect(await failure(bus.whenConnected(1))).to.include({ code: 'bus_closed' });
  });

  it('refuses more than it can keep', async () => {
    const bus = connect(`ws://127.0.0.1:${await freePort()}`);
    const calls = Array.from({ length: busLimits.waitingCalls }, () => failure(bus.call('test.echo', {})));
    expect(await failure(bus.call('test.echo', {}))).to.include({ code: 'bus_busy', retryable: true });
    await bus.close();
    for (const { code } of await Promise.all(calls)) expect(code).to.equal('bus_closed');
  });

  it('refuses a call that no bus takes, and ids that are empty or there already', async () => {
    const { url } = await engine();
    const bus = connect(url);
    const data = { text: 'ä'.repeat(busLimits.frameBytes / 2) };
    expect(await failure(bus.call('test.echo', data))).to.include({
      code: 'call_too_large',
      retryable: false,
    });
    bus.register([echo('test.echo')]);
    expect(() => bus.register([echo('test.echo')])).to.throw(TypeError, '"test.echo"');
    expect(() => bus.register([echo(' ')])).to.throw(TypeError);
    expect(() => bus.register([echo('test.two'), echo('test.two')])).to.throw(TypeError, 'twice');
  });
});

function echo(id: string): BusFunction {
  return {
    id,
    description: 'gives back',
    request: { type: 'object' },
    response: { type: 'object' },
    handle: async (data) => data,
  };
}

function results(frames: Connection['frames']): AnyFrame[] {
  return frames.filter(({ type }) => type === 'invocationresult');
}

async function failure(work: Promise<unknown>): Promise<Error & { code: string; retryable: boolean }> {
  try {
    await work;
  } catch (error) {
    return error as Error & { code: string; retryable: boolean };
  }
  throw new Error('it did not fail');
}
