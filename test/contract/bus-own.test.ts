import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { until } from '../fixtures/until.ts';
import {
  closeClients,
  type Frame,
  type OwnEngine,
  openEngine,
  printed,
  type RawPeer,
  rawPeer,
  refusal,
  sdkWorker,
  triggerRefusal,
  turnedAway,
} from './bus-scene.ts';

describe('the bus, where core-bus-engine does more than the protocol asks', () => {
  let engine: OwnEngine;
  let other: Readonly<Record<string, string>>;

  before(async () => {
    engine = await openEngine({
      change: (config) => ({ ...config, allowed_origins: ['http://dash.example'] }),
    });
    other = engine.token('other');
  });
  after(() => engine.close());
  afterEach(closeClients);

  async function provider(id: string, headers = engine.headers): Promise<RawPeer> {
    const peer = await rawPeer({ ...engine, headers });
    peer.send({ type: 'registerfunction', id });
    await peer.settled();
    return peer;
  }

  async function answerOne(peer: RawPeer, result: unknown): Promise<Frame> {
    const call = await peer.next({ type: 'invokefunction' });
    const { invocation_id, function_id } = call;
    peer.send({ type: 'invocationresult', invocation_id, function_id, result });
    return call;
  }

  describe('frames that other engines lose', () => {
    it('answers a call without data with an error', async () => {
      const peer = await rawPeer(engine);
      const answer = await peer.call('f', undefined);
      expect(answer.error.code).to.equal('invalid_frame');
      expect(answer.error.message).to.include('data is missing: must be a value: {} where there is none');
    });

    it('answers a trigger without config with an error', async () => {
      const peer = await rawPeer(engine);
      peer.send({ type: 'registertrigger', id: 't1', trigger_type: 'http', function_id: 'f' });
      const { error } = await peer.next({ type: 'triggerregistrationresult', id: 't1' });
      expect(error.message).to.include('config is missing');
    });

    it('takes ids of calls that are no UUIDs', async () => {
      const worker = await provider('own.ids');
      const caller = await rawPeer(engine);
      caller.send({ type: 'invokefunction', invocation_id: 'seven', function_id: 'own.ids', data: [] });
      await answerOne(worker, 7);
      expect(await caller.next({ invocation_id: 'seven' })).to.include({ result: 7 });
    });

    it('fails a call whose answer breaks the rules, instead of waiting', async () => {
      const worker = await provider('own.garbled');
      const caller = await rawPeer(engine);
      const answer = caller.call('own.garbled', {});
      const { invocation_id } = await worker.next({ type: 'invokefunction' });
      worker.send({ type: 'invocationresult', invocation_id, function_id: 'own.garbled', error: 'no' });
      expect((await answer).error).to.include({ code: 'invocation_failed' });
    });

    it('names what only an iii has where it is called or waited for', async () => {
      const caller = await rawPeer(engine);
      for (const [id, what] of [
        ['state::get', 'no stores of state'],
        ['stream::set', 'no streams'],
        ['iii::durable::publish', 'no queues'],
        ['engine::traces::list', 'no traces'],
        ['engine::logs::list', 'no logs'],
        ['publish', 'no topics'],
      ] as const) {
        const { error } = await caller.call(id, {});
        expect(error).to.include({ code: 'not_on_this_engine' });
        expect(error.message).to.include(id).and.to.include(what).and.to.include('an iii has them');
      }
      await provider('own.queued');
      const action = { type: 'enqueue', queue: 'jobs' };
      const { error } = await caller.call('own.queued', {}, { action });
      expect(error.message).to.match(/queue jobs: this engine has no queues, an iii has them/);
      for (const type of ['state', 'stream', 'subscribe', 'durable:subscriber', 'log', 'trace'])
        expect((await triggerRefusal(caller, type, {})).message, type).to.include('an iii has them');
    });
  });

  describe('calls', () => {
    it('of two clients with one id each get their own result', async () => {
      const worker = await provider('own.collide');
      const [first, second] = [await rawPeer(engine), await rawPeer(engine)];
      const invocation_id = crypto.randomUUID();
      const frame = { type: 'invokefunction', invocation_id, function_id: 'own.collide' };
      first.send({ ...frame, data: 'first' });
      second.send({ ...frame, data: 'second' });
      const calls = [
        await worker.next({ type: 'invokefunction' }),
        await worker.next({ type: 'invokefunction' }),
      ];
      expect(calls[0].invocation_id).not.to.equal(calls[1].invocation_id);
      for (const call of calls)
        worker.send({
          type: 'invocationresult',
          invocation_id: call.invocation_id,
          function_id: 'own.collide',
          result: call.data,
        });
      expect(await first.next({ invocation_id })).to.include({ result: 'first' });
      expect(await second.next({ invocation_id })).to.include({ result: 'second' });
    });

    it('are answered by who was asked, and by nobody else', async () => {
      const worker = await provider('own.forged');
      const [caller, forger] = [await rawPeer(engine), await rawPeer({ ...engine, headers: other })];
      const answer = caller.call('own.forged', {});
      const { invocation_id } = await worker.next({ type: 'invokefunction' });
      const result = { type: 'invocationresult', invocation_id, function_id: 'own.forged' };
      forger.send({ ...result, result: 'forged' });
      await forger.settled();
      worker.send({ ...result, result: 'true' });
      expect((await answer).result).to.equal('true');
    });

    it('have a greatest age', async () => {
      let now = 0;
      const clock = { wall: Date.now, monotonic: () => now };
      const strict = await openEngine({ clock });
      const worker = await rawPeer(strict);
      worker.send({ type: 'registerfunction', id: 'own.silent' });
      await worker.settled();
      const answer = worker.call('own.silent', {});
      await worker.next({ type: 'invokefunction' });
      now = 1_800_000;
      strict.service.engine.calls.sweep();
      expect((await answer).error).to.deep.equal({
        code: 'TIMEOUT',
        message: "own.silent did not answer within 1800 s, the engine's limit",
      });
      await strict.close();
    });
  });

  describe('functions', () => {
    it('go back to the worker that had them before', async () => {
      const first = await provider('own.restored');
      const second = await provider('own.restored');
      const caller = await rawPeer(engine);
      second.ws.terminate();
      const asked = first.next({ type: 'invokefunction' });
      await until('the call to arrive', async () => {
        const stopped = caller.call('own.restored', {}).then(() => null);
        return (await Promise.race([asked, stopped])) !== null;
      });
    });

    it('of an owned prefix belong to its token', async () => {
      const peer = await rawPeer({ ...engine, headers: other });
      peer.send({ type: 'registerfunction', id: 'core.agent.health' });
      const rejected = await peer.next({ type: 'registrationrejected' });
      expect(rejected).to.deep.include({ code: 'function_owned', function_id: 'core.agent.health' });
      expect(rejected.message).to.include('belongs to the token worker');
      peer.send({ type: 'registerfunction', id: 'core.schedules.tick' });
      expect((await peer.next({ type: 'registrationrejected' })).message).to.include('the token bridge');
      await peer.settled();
      expect((await peer.call('core.agent.health', {})).error.code).to.equal('function_not_found');
    });

    it('of the engine itself cannot be registered', async () => {
      const peer = await rawPeer(engine);
      for (const id of [
        'engine::health::check',
        'engine::new',
        'publish',
        'state::get',
        'configuration::get',
      ]) {
        peer.send({ type: 'registerfunction', id });
        expect(await peer.next({ type: 'registrationrejected', function_id: id })).to.include({
          code: 'function_id_reserved',
        });
      }
      peer.send({ type: 'registerfunction', id: 'a\u0000b' });
      expect((await peer.next({ type: 'registrationrejected' })).code).to.equal('function_id_invalid');
      peer.send({ type: 'registerfunction', id: 'h', invocation: { url: 'http://127.0.0.1:1' } });
      expect((await peer.next({ type: 'registrationrejected' })).code).to.equal('http_invocation_refused');
    });

    it('that a worker has cannot be taken over with another token', async () => {
      const worker = await provider('own.held');
      const thief = await rawPeer({ ...engine, headers: other });
      thief.send({ type: 'registerfunction', id: 'own.held' });
      const rejected = await thief.next({ type: 'registrationrejected' });
      expect(rejected).to.include({ code: 'function_held', owner_worker_id: worker.workerId });
      const answer = thief.call('own.held', {});
      await answerOne(worker, 1);
      expect((await answer).result).to.equal(1);
    });
  });

  describe('who may connect', () => {
    it('needs a token, and gets the reason before the connection is closed', async () => {
      for (const headers of [{}, { authorization: 'Bearer core_worker_0123' }]) {
        const { frames, code, reason, invocation_id } = await turnedAway({ ...engine, headers });
        const error = { code: 'AUTH_ERROR', message: frames[0].error.message };
        expect(error.message)
          .to.match(/token/)
          .and.to.match(/\.\/core token|installation/);
        expect(frames).to.deep.equal([
          { type: 'error', error },
          {
            type: 'triggerregistrationresult',
            id: 'connection',
            trigger_type: 'AUTH_ERROR',
            function_id: '',
            error,
          },
          { type: 'invocationresult', invocation_id, function_id: 'f', error },
        ]);
        expect(code).to.equal(1008);
        expect(error.message.startsWith(reason), reason).to.equal(true);
      }
      expect(engine.service.engine.functions.get('f')).to.equal(undefined);
      expect(engine.service.engine.workers.size).to.equal(0);
    });

    it('sees with the official SDK why it may not connect, and why a function is not taken', async () => {
      const stranger = sdkWorker({ ...engine, headers: {} }, 'stranger');
      const refused = await stranger.trigger({ function_id: 'f', payload: {} }).catch((error) => error);
      expect(refused).to.include({ code: 'AUTH_ERROR' });
      expect(refused.message).to.include('workers of this bus need a token');
      expect(printed.join()).to.include('workers of this bus need a token');
      sdkWorker({ ...engine, headers: other }, 'other').registerFunction('core.agent.health', async () => 1);
      await until('the reason', () =>
        printed.join().includes('core.agent.health belongs to the token worker'),
      );
    });

    it('comes to a path that there is', async () => {
      expect(await refusal({ ...engine, url: `${engine.url}/ws` })).to.include({ status: 404 });
      const channel = `${engine.url}/ws/channels/${crypto.randomUUID()}?key=x&dir=read`;
      expect(await refusal({ ...engine, url: channel })).to.include({
        status: 404,
        code: 'channel_not_found',
      });
    });

    it('does not come from a page of another place, nor under another name', async () => {
      for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1'])
        expect(await refusal(engine, { origin })).to.include({ status: 403, code: 'origin_not_allowed' });
      const renamed = { ...engine, headers: { ...engine.headers, host: 'evil.example' } };
      expect(await refusal(renamed)).to.include({ status: 403, code: 'host_not_allowed' });
      await rawPeer(engine, { origin: 'http://dash.example' });
    });

    it('may only look around with a token that only reads', async () => {
      await provider('own.plans');
      const reader = await rawPeer({ ...engine, headers: engine.token('reader', ['read']) });
      expect((await reader.call('engine::functions::list', {})).result.functions).to.be.an('array');
      expect((await reader.call('own.plans', {})).error.code).to.equal('FORBIDDEN');
      expect((await reader.call('engine::register_trigger', {})).error.code).to.equal('FORBIDDEN');
      reader.send({ type: 'registerfunction', id: 'own.read' });
      expect((await reader.next({ type: 'registrationrejected' })).code).to.equal('FORBIDDEN');
      const trigger = {
        type: 'registertrigger',
        id: 'r',
        trigger_type: 'http',
        function_id: 'f',
        config: {},
      };
      reader.send(trigger);
      expect((await reader.next({ type: 'triggerregistrationresult' })).error.message).to.include(
        'scope plan',
      );
      const none = engine.token('minter', ['mint']);
      const { frames } = await turnedAway({ ...engine, headers: none });
      expect(frames[0].error.message).to.include('token minter has the scopes mint; the bus needs plan');
    });

    it('is sent away when the token is revoked', async () => {
      const peer = await rawPeer({ ...engine, headers: engine.token('short-lived') });
      await engine.revoke('short-lived');
      expect(await peer.closed).to.equal(1008);
    });

    it('cannot reattach with the connection of another token', async () => {
      const victim = await rawPeer(engine);
      const thief = await rawPeer({ ...engine, headers: other });
      const { workerId: previous_worker_id, reattachToken: reattach_token } = victim;
      thief.send({ type: 'reattach', previous_worker_id, reattach_token });
      await thief.settled();
      await victim.settled();
    });

    it('may send telemetry, which goes nowhere', async () => {
      const { WebSocket } = await import('ws');
      const socket = new WebSocket(`${engine.url}/otel`);
      await new Promise((resolve) => socket.on('open', resolve));
      socket.send(Buffer.from('OTLP{}'));
      socket.close();
      expect(await new Promise((resolve) => socket.on('close', resolve))).to.equal(1005);
    });
  });

  describe('http triggers', () => {
    async function route(config: Frame, headers = engine.headers, functionId = `own.${crypto.randomUUID()}`) {
      const worker = await provider(functionId, headers);
      const id = crypto.randomUUID();
      worker.send({ type: 'registertrigger', id, trigger_type: 'http', function_id: functionId, config });
      await worker.settled();
      return { worker, id, functionId };
    }
    const path = () => `/own/${crypto.randomUUID()}`;

    it('want a token of scope read to read, and plan for all else, unless they are public', async () => {
      const [at, open] = [path(), path()];
      await route({ api_path: at });
      await route({ api_path: at, http_method: 'POST' });
      const { worker } = await route({ api_path: open, public: true });
      const reader = engine.token('http-reader', ['read']);
      const status = async (method: string, headers = {}) =>
        (await fetch(`${engine.httpUrl}${at}`, { method, headers })).status;
      expect(await status('GET')).to.equal(401);
      expect(await status('POST')).to.equal(401);
      expect(await status('POST', reader)).to.equal(403);
      const answer = fetch(`${engine.httpUrl}${open}`);
      const { data } = await answerOne(worker, { body: 'hello' });
      expect(data.headers).not.to.have.property('authorization');
      expect(await (await answer).json()).to.equal('hello');
    });

    it('cannot make a function public that belongs to another token', async () => {
      const peer = await rawPeer({ ...engine, headers: other });
      const config = { api_path: path(), public: true };
      peer.send({
        type: 'registertrigger',
        id: 'p',
        trigger_type: 'http',
        function_id: 'core.agent.x',
        config,
      });
      const { error } = await peer.next({ type: 'triggerregistrationresult' });
      expect(error.message).to.include('belongs to the token worker');
    });

    it('refuse requests of foreign pages and names', async () => {
      const at = path();
      await route({ api_path: at, public: true });
      const foreign = await fetch(`${engine.httpUrl}${at}`, { headers: { origin: 'http://evil.example' } });
      expect(foreign.status).to.equal(403);
      const status = await new Promise((resolve) => {
        httpRequest(`${engine.httpUrl}${at}`, { headers: { host: 'evil.example' } }, (answer) =>
          resolve(answer.resume().statusCode),
        ).end();
      });
      expect(status).to.equal(403);
      const allowed = await fetch(`${engine.httpUrl}${at}`, {
        method: 'OPTIONS',
        headers: { origin: 'http://dash.example' },
      });
      expect(allowed.status).to.equal(204);
      expect(allowed.headers.get('access-control-allow-origin')).to.equal('http://dash.example');
    });

    it('ask their condition first', async () => {
      const at = path();
      const condition = await provider('own.condition');
      const { worker } = await route({ api_path: at, condition_function_id: 'own.condition' });
      const refused = fetch(`${engine.httpUrl}${at}`, { headers: engine.headers });
      await answerOne(condition, false);
      expect((await refused).status).to.equal(422);
      expect((await (await refused).json()) as Frame).to.have.nested.property(
        'error.code',
        'CONDITION_NOT_MET',
      );
      const taken = fetch(`${engine.httpUrl}${at}`, { headers: engine.headers });
      await answerOne(condition, true);
      await answerOne(worker, { status_code: 204 });
      expect((await taken).status).to.equal(204);
    });

    it('of one shape answer one after the other', async () => {
      const at = path();
      const first = await route({ api_path: `${at}/:a` });
      const second = await route({ api_path: `${at}/:b` });
      const { error } = await second.worker.next({ type: 'triggerregistrationresult', id: second.id });
      expect(error.message).to.include('is defined already');
      first.worker.ws.terminate();
      const ask = () => fetch(`${engine.httpUrl}${at}/x`, { headers: engine.headers });
      const call = second.worker.next({ type: 'invokefunction' });
      let answer: Promise<Response> = ask();
      await until('the call to arrive', async () => {
        if ((await Promise.race([answer.then(({ status }) => status), call])) instanceof Object) return true;
        answer = ask();
        return false;
      });
      expect((await call).data.path_params).to.deep.equal({ b: 'x' });
    });

    it('report answers that cannot be sent, bodies that are too large, and missing functions', async () => {
      const at = path();
      const { worker } = await route({ api_path: at, http_method: 'POST' });
      const ask = (body: string) =>
        fetch(`${engine.httpUrl}${at}`, { method: 'POST', headers: engine.headers, body });
      for (const wrong of [{ status_code: 99 }, { status_code: 700 }, { status_code: '201' }]) {
        const answer = ask('x');
        await answerOne(worker, wrong);
        expect((await answer).status).to.equal(500);
        expect((await (await answer).json()) as Frame).to.have.nested.property(
          'error.code',
          'http_answer_invalid',
        );
      }
      expect((await ask('x'.repeat(1_048_577))).status).to.equal(413);
      worker.send({ type: 'unregisterfunction', id: (await functionOf(worker)) ?? '' });
      await worker.settled();
      const gone = await ask('x');
      expect(gone.status).to.equal(500);
    });

    async function functionOf({ workerId }: RawPeer): Promise<string | undefined> {
      const all = [...engine.service.engine.functions.all()];
      return all.find(({ peer }) => peer.id === workerId)?.id;
    }

    it('give up on a function that does not answer', async () => {
      const hasty = await openEngine({
        change: (config) => ({ ...config, http: { ...config.http, seconds: 1 } }),
      });
      const worker = await rawPeer(hasty);
      worker.send({ type: 'registerfunction', id: 'slow' });
      worker.send({
        type: 'registertrigger',
        id: 's',
        trigger_type: 'http',
        function_id: 'slow',
        config: { api_path: 'slow' },
      });
      await worker.settled();
      const answer = await fetch(`${hasty.httpUrl}/slow`, { headers: hasty.headers });
      expect(answer.status).to.equal(504);
      await hasty.close();
    });

    it('are not there for what the engine itself answers', async () => {
      const health = await fetch(`${engine.httpUrl}/healthz`);
      expect(await health.json()).to.include({ status: 'ok', service: 'core-bus-engine' });
      const peer = await rawPeer(engine);
      for (const api_path of ['/healthz', '/a?b', '/../x', '/a//b', 7, '/a b'])
        peer.send({
          type: 'registertrigger',
          id: crypto.randomUUID(),
          trigger_type: 'http',
          function_id: 'f',
          config: { api_path },
        });
      for (let nth = 0; nth < 6; nth++) await peer.next({ type: 'triggerregistrationresult' });
    });
  });

  describe('configuration', () => {
    it('is reported truly, under the ids of the protocol', async () => {
      const peer = await rawPeer(engine);
      const value = async (id: string) => (await peer.call('configuration::get', { id })).result?.value;
      expect((await value('iii-cron')).adapter.config).to.include({ store_method: 'file_based' });
      expect(await value('iii-telemetry')).to.deep.equal({ enabled: false });
      expect(await value('core-bus-engine')).to.include({ config_file_active: true, in_memory: false });
      expect((await peer.call('configuration::get', { id: 'iii-state' })).error.code).to.equal('NOT_FOUND');
      expect((await peer.call('configuration::get', {})).error.code).to.equal('deserialization_error');
    });
  });

  describe('triggers that outlive their connection', () => {
    it('do not outlive the token that they were registered with', async () => {
      await provider('own.outlived');
      const fleeting = { ...engine, headers: engine.token('fleeting') };
      const peer = await rawPeer(fleeting);
      const { result } = await peer.call('engine::register_trigger', {
        trigger_type: 'engine::workers-available',
        function_id: 'own.outlived',
      });
      expect(result.id).to.be.a('string');
      await engine.revoke('fleeting');
      await peer.closed;
      await until('the warning', () =>
        engine.log.some((line) => line.includes('the token fleeting that it was registered')),
      );
    });
  });

  describe('events', () => {
    it('report functions and workers that come and go', async () => {
      const watcher = await provider('own.watch');
      for (const trigger_type of ['engine::functions-available', 'engine::workers-available'])
        watcher.send({
          type: 'registertrigger',
          id: crypto.randomUUID(),
          trigger_type,
          function_id: 'own.watch',
          config: {},
        });
      await watcher.settled();
      const newcomer = await provider('own.new');
      /** Peers of earlier tests may still be going. */
      async function eventWith(members: Frame): Promise<Frame> {
        for (;;) {
          const { data } = await answerOne(watcher, null);
          if (Object.entries(members).every(([name, value]) => data[name] === value)) return data;
        }
      }
      let functions: Frame[] = [];
      while (!functions.some(({ function_id }) => function_id === 'own.new'))
        ({ functions } = await eventWith({ event: 'functions_available' }));
      newcomer.send({
        type: 'invokefunction',
        function_id: 'engine::workers::register',
        data: { name: 'newcomer', pid: 1 },
        action: { type: 'void' },
      });
      await eventWith({ event: 'worker_connected', worker_id: newcomer.workerId });
      newcomer.ws.terminate();
      await eventWith({ event: 'worker_disconnected', worker_id: newcomer.workerId });
    });
  });
});
