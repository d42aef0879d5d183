import { expect } from 'chai';
import { TriggerAction } from 'iii-sdk';
import { until } from '../fixtures/until.ts';
import {
  askWeb,
  type BusUnderTest,
  closeClients,
  type Frame,
  freshName,
  rawPeer,
  sdkWorker,
  triggerRefusal,
  webFunction,
} from './bus-scene.ts';

/** What every engine of the protocol does. */
export function busContract(engine: () => BusUnderTest): void {
  const fresh = freshName;

  afterEach(closeClients);

  /** Resolves when somebody answers to the id. */
  async function registered(id: string): Promise<void> {
    const peer = await rawPeer(engine());
    await until(
      () => `the function ${id}`,
      async () => (await peer.call('engine::functions::info', { function_id: id })).error === undefined,
    );
    peer.ws.terminate();
  }

  describe('calls with the official SDK at both ends', () => {
    it('gives the function its data and the caller the result', async () => {
      const id = fresh('echo');
      sdkWorker(engine(), 'provider').registerFunction(id, async (data: Frame) => ({
        got: data.words,
        n: 7,
      }));
      await registered(id);
      const answer = await sdkWorker(engine(), 'caller').trigger({
        function_id: id,
        payload: { words: ['a', 'ü', '𝄞', '"\\'] },
      });
      expect(answer).to.deep.equal({ got: ['a', 'ü', '𝄞', '"\\'], n: 7 });
    });

    it('passes lists and single values through as they are', async () => {
      const id = fresh('same');
      sdkWorker(engine(), 'provider').registerFunction(id, async (data: Frame) => [data]);
      await registered(id);
      const caller = sdkWorker(engine(), 'caller');
      for (const payload of [[1, [2]], 'text', 3.5, true])
        expect(await caller.trigger({ function_id: id, payload })).to.deep.equal([payload]);
    });

    it('reports what a handler threw as invocation_failed, and a missing function as function_not_found', async () => {
      const id = fresh('broken');
      sdkWorker(engine(), 'provider').registerFunction(id, async () => {
        throw new TypeError('bad query');
      });
      await registered(id);
      const caller = sdkWorker(engine(), 'caller');
      const failed = await caller.trigger({ function_id: id, payload: {} }).catch((error) => error);
      expect(failed).to.include({ code: 'invocation_failed', message: 'invocation_failed: bad query' });
      const missing = await caller
        .trigger({ function_id: fresh('nope'), payload: {} })
        .catch((error) => error);
      expect(missing.code).to.equal('function_not_found');
    });

    it('does void calls, and hands metadata on', async () => {
      const id = fresh('void');
      const seen: Frame[] = [];
      sdkWorker(engine(), 'provider').registerFunction(id, async (data: Frame, metadata) => {
        seen.push([data.v, metadata]);
      });
      await registered(id);
      const metadata = { trace: 'x' };
      const answer = await sdkWorker(engine(), 'caller').trigger({
        function_id: id,
        payload: { v: 1 },
        action: TriggerAction.Void(),
        metadata,
      });
      await until('the call', () => seen.length === 1);
      expect(answer).to.equal(undefined);
      expect(seen).to.deep.equal([[1, metadata]]);
    });

    it('says at once that there is no queue to put a call in', async () => {
      const id = fresh('queued');
      sdkWorker(engine(), 'provider').registerFunction(id, async () => 1);
      await registered(id);
      const action = TriggerAction.Enqueue({ queue: 'default' });
      const refused = await sdkWorker(engine(), 'caller')
        .trigger({ function_id: id, payload: {}, action })
        .catch((error) => error);
      expect(refused).to.include({ code: 'enqueue_error' });
      expect(refused.message).to.match(/queue/);
    });

    it('answers many calls at once, each with its own result', async () => {
      const id = fresh('many');
      sdkWorker(engine(), 'provider').registerFunction(id, async ({ n }: Frame) => ({ n: n * 2 }));
      await registered(id);
      const caller = sdkWorker(engine(), 'caller');
      const calls = Array.from({ length: 300 }, (_, n) =>
        caller.trigger({ function_id: id, payload: { n, pad: 'x'.repeat(n * 100) } }),
      );
      expect(await Promise.all(calls)).to.deep.equal(calls.map((_, n) => ({ n: n * 2 })));
    });

    it('registers again after the connection was lost, and takes up what was called meanwhile', async () => {
      const id = fresh('again');
      const provider = sdkWorker(engine(), 'provider');
      provider.registerFunction(id, async () => ({ ok: true }));
      await registered(id);
      const caller = sdkWorker(engine(), 'caller');
      expect(await caller.trigger({ function_id: id, payload: {} })).to.deep.equal({ ok: true });
      (provider as Frame).ws.terminate();
      await until('an answer', async () => {
        const answer = (await caller.trigger({ function_id: id, payload: {} }).catch(() => null)) as Frame;
        return answer?.ok === true;
      });
    });
  });

  describe('frames', () => {
    it('adds who calls to data that is an object, in place of what the caller claims', async () => {
      const id = fresh('who');
      const [provider, caller] = [await rawPeer(engine()), await rawPeer(engine())];
      provider.send({ type: 'registerfunction', id });
      await provider.settled();
      for (const data of [{}, { a: 1 }, { _caller_worker_id: 'somebody', z: [] }]) {
        const answer = caller.call(id, data);
        const call = await provider.next({ type: 'invokefunction' });
        expect(call.data).to.deep.equal({ ...data, _caller_worker_id: caller.workerId });
        provider.send({
          type: 'invocationresult',
          invocation_id: call.invocation_id,
          function_id: id,
          result: {},
        });
        await answer;
      }
    });

    it('keeps the id of a call, and hands trace context on, there and back', async () => {
      const id = fresh('traced');
      const [provider, caller] = [await rawPeer(engine()), await rawPeer(engine())];
      provider.send({ type: 'registerfunction', id });
      await provider.settled();
      const trace = {
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      };
      const invocation_id = crypto.randomUUID();
      caller.send({ type: 'invokefunction', invocation_id, function_id: id, data: {}, ...trace });
      const call = await provider.next({ type: 'invokefunction' });
      expect(call).to.include({ invocation_id, ...trace });
      provider.send({ type: 'invocationresult', invocation_id, function_id: id, result: 1, ...trace });
      expect(await caller.next({ type: 'invocationresult' })).to.include({
        invocation_id,
        result: 1,
        ...trace,
      });
    });

    it('hands on the error that a worker gives', async () => {
      const id = fresh('failing');
      const [provider, caller] = [await rawPeer(engine()), await rawPeer(engine())];
      provider.send({ type: 'registerfunction', id });
      await provider.settled();
      const answer = caller.call(id, {});
      const { invocation_id } = await provider.next({ type: 'invokefunction' });
      const error = { code: 'out_of_paper', message: 'no paper' };
      provider.send({ type: 'invocationresult', invocation_id, function_id: id, error });
      expect((await answer).error).to.include(error);
    });

    it('ends the calls of a worker that goes, with invocation_stopped', async () => {
      const id = fresh('leaving');
      const [provider, caller] = [await rawPeer(engine()), await rawPeer(engine())];
      provider.send({ type: 'registerfunction', id });
      await provider.settled();
      const answer = caller.call(id, {});
      await provider.next({ type: 'invokefunction' });
      provider.ws.terminate();
      expect((await answer).error.code).to.equal('invocation_stopped');
      await until('its end', async () => (await caller.call(id, {})).error?.code === 'function_not_found');
    });

    it('overlooks what it does not understand, and stays', async () => {
      const peer = await rawPeer(engine());
      for (const text of ['{', '[]', 'null', '{"type":"dance"}', '{"type":"invocationresult"}', ''])
        peer.send(text);
      peer.ws.send(Buffer.from('{"type":"ping"}'), { binary: true });
      await peer.next({ type: 'pong' });
      await peer.settled();
    });

    it('declines to compress', async () => {
      const peer = await rawPeer(engine(), { perMessageDeflate: true });
      expect(peer.ws.extensions).to.equal('');
    });

    it('takes a function back at unregisterfunction, from its own worker only', async () => {
      const id = fresh('taken');
      const [provider, other] = [await rawPeer(engine()), await rawPeer(engine())];
      provider.send({ type: 'registerfunction', id });
      await provider.settled();
      other.send({ type: 'unregisterfunction', id });
      await other.settled();
      const answer = other.call(id, {});
      const { invocation_id } = await provider.next({ type: 'invokefunction' });
      provider.send({ type: 'invocationresult', invocation_id, function_id: id, result: 1 });
      expect((await answer).result).to.equal(1);
      provider.send({ type: 'unregisterfunction', id });
      await provider.settled();
      expect((await other.call(id, {})).error.code).to.equal('function_not_found');
    });

    it('lets the last registration of an id answer', async () => {
      const id = fresh('twice');
      const [first, second, caller] = await Promise.all([1, 2, 3].map(() => rawPeer(engine())));
      first!.send({ type: 'registerfunction', id });
      await first!.settled();
      second!.send({ type: 'registerfunction', id });
      await second!.settled();
      void caller!.call(id, { to: 'second' });
      expect((await second!.next({ type: 'invokefunction' })).data.to).to.equal('second');
    });
  });

  describe('reattaching', () => {
    it('ends the earlier connection of who can prove that it was its own', async () => {
      const id = fresh('back');
      const earlier = await rawPeer(engine());
      earlier.send({ type: 'registerfunction', id });
      await earlier.settled();
      const now = await rawPeer(engine());
      const { workerId: previous_worker_id, reattachToken: reattach_token } = earlier;
      now.send({ type: 'reattach', previous_worker_id, reattach_token });
      await earlier.closed;
      await now.settled();
      expect((await now.call(id, {})).error.code).to.equal('function_not_found');
    });

    it('is not taken in by a token that is forged, missing or of another', async () => {
      const [victim, attacker] = [await rawPeer(engine()), await rawPeer(engine())];
      const previous_worker_id = victim.workerId;
      for (const reattach_token of [undefined, '', crypto.randomUUID(), attacker.reattachToken])
        attacker.send({ type: 'reattach', previous_worker_id, reattach_token });
      attacker.send({ type: 'reattach', previous_worker_id: 'no such', reattach_token: 'x' });
      attacker.send({ type: 'reattach' });
      await attacker.settled();
      await victim.settled();
    });
  });

  describe('lists of its own', () => {
    it('list functions with their schemas, and what calls them', async () => {
      const id = fresh('listed');
      const worker = sdkWorker(engine(), fresh('worker'));
      const request_format = { type: 'object', properties: { n: { type: 'number' } } };
      worker.registerFunction(id, async () => ({}), { description: 'for lists', request_format } as Frame);
      await registered(id);
      const peer = await rawPeer(engine());
      const { functions } = (await peer.call('engine::functions::list', { prefix: id })).result;
      expect(functions).to.have.length(1);
      expect(functions[0]).to.include({ function_id: id, description: 'for lists' });
      const { result } = await peer.call('engine::functions::info', { function_id: id });
      expect(result.request_schema).to.deep.equal(request_format);
      expect(result.registered_triggers).to.deep.equal([]);
      const { error } = await peer.call('engine::functions::info', { function_id: fresh('none') });
      expect(error.code).to.equal('NOT_FOUND');
    });

    it('describe each of several functions, also if one is missing', async () => {
      const [id, none] = [fresh('there'), fresh('none')];
      sdkWorker(engine(), 'there').registerFunction(id, async () => 1);
      await registered(id);
      const peer = await rawPeer(engine());
      const { functions } = (await peer.call('engine::functions::info', { function_ids: [none, id] })).result;
      expect(functions).to.have.length(2);
      expect(functions[0]).to.deep.equal({ function_id: none, error: 'not_found' });
      expect(functions[1]).to.include({ function_id: id, worker_name: 'there' });
      const { error } = await peer.call('engine::functions::info', {});
      expect(error.code).to.equal('INVALID_ARGUMENTS');
    });

    it('list who is connected, once a worker has introduced itself', async () => {
      const name = fresh('named');
      sdkWorker(engine(), name);
      const peer = await rawPeer(engine());
      let found: Frame;
      await until('the worker', async () => {
        const { workers } = (await peer.call('engine::workers::list', {})).result;
        found = workers.find((worker: Frame) => worker.name === name);
        expect(workers.some((worker: Frame) => worker.id === peer.workerId)).to.equal(false);
        return found !== undefined;
      });
      expect(found).to.include({ runtime: 'node', version: '0.22.1' });
    });

    it('report that it is healthy', async () => {
      const peer = await rawPeer(engine());
      const { result } = await peer.call('engine::health::check', {});
      expect(result.status).to.equal('healthy');
      expect(result.version).to.be.a('string');
    });
  });

  describe('triggers', () => {
    it('of a type that a worker provides reach that worker, also when it comes later', async () => {
      const [type, id] = [fresh('timer'), crypto.randomUUID()];
      const [user, provider] = [await rawPeer(engine()), await rawPeer(engine())];
      user.send({
        type: 'registertrigger',
        id,
        trigger_type: type,
        function_id: 'f',
        config: { every: 5 },
        message_type: 'registertrigger',
      });
      await user.settled();
      provider.send({ type: 'registertriggertype', id: type, description: 'x' });
      expect(await provider.next({ type: 'registertrigger' })).to.deep.include({
        id,
        trigger_type: type,
        function_id: 'f',
        config: { every: 5 },
      });
      user.send({ type: 'unregistertrigger', id, trigger_type: type });
      expect(await provider.next({ type: 'unregistertrigger' })).to.include({ id, trigger_type: type });
    });

    it('that their provider refuses are reported to the worker that registered them', async () => {
      const [type, id] = [fresh('picky'), crypto.randomUUID()];
      const [user, provider] = [await rawPeer(engine()), await rawPeer(engine())];
      provider.send({ type: 'registertriggertype', id: type, description: 'x' });
      await provider.settled();
      user.send({ type: 'registertrigger', id, trigger_type: type, function_id: 'f', config: {} });
      await provider.next({ type: 'registertrigger' });
      const error = { code: 'trigger_registration_failed', message: 'not this one' };
      provider.send({
        type: 'triggerregistrationresult',
        id,
        trigger_type: type,
        function_id: 'f',
        error,
      });
      expect(await user.next({ type: 'triggerregistrationresult' })).to.deep.include({ id, error });
    });

    it('of http call a function for a request, and answer with what it returns', async () => {
      const [id, path] = [fresh('web'), `/${fresh('path')}`];
      const worker = sdkWorker(engine(), 'web');
      let seen: Frame;
      worker.registerFunction(id, async (request: Frame) => {
        seen = request;
        return { status_code: 201, headers: { 'X-Made': 'yes' }, body: { made: request.body } };
      });
      worker.registerTrigger({
        type: 'http',
        function_id: id,
        config: { api_path: `${path}/:item`, http_method: 'POST' },
        metadata: { via: 'http' },
      });
      await registered(id);
      const { httpUrl, headers } = engine();
      const ask = () =>
        fetch(`${httpUrl}${path}/pen%20cil?x=1`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: '{"n":1}',
        });
      let answer = await ask();
      await until('the route', async () => {
        if (answer.status === 201) return true;
        answer = await ask();
        return false;
      });
      expect(answer.headers.get('x-made')).to.equal('yes');
      expect(await answer.json()).to.deep.equal({ made: { n: 1 } });
      expect(seen).to.deep.include({
        query_params: { x: '1' },
        path_params: { item: 'pen%20cil' },
        path: `${path}/:item`,
        method: 'POST',
        body: { n: 1 },
        trigger: { type: 'http', path: `${path}/:item`, method: 'POST' },
      });
      expect(seen).not.to.have.property('_caller_worker_id');
    });

    it('of http answer 404 where nothing is, and 500 where a function fails', async () => {
      const [id, path] = [fresh('fails'), `/${fresh('path')}`];
      const worker = sdkWorker(engine(), 'web');
      worker.registerFunction(id, async () => {
        throw new Error('no');
      });
      worker.registerTrigger({ type: 'http', function_id: id, config: { api_path: path } });
      await registered(id);
      const { httpUrl, headers } = engine();
      let answer: Response | undefined;
      await until('the route', async () => {
        answer = await fetch(`${httpUrl}${path}`, { headers });
        return answer.status === 500;
      });
      expect((await answer!.json()) as Frame).to.have.nested.property('error.code', 'invocation_failed');
      const nothing = await fetch(`${httpUrl}/${fresh('nothing')}`, { headers });
      expect(nothing.status).to.equal(404);
      expect(await nothing.json()).to.deep.equal({ error: { code: 'NOT_FOUND', message: 'Not Found' } });
    });

    it('of http answer 405 with what is defined where another method is', async () => {
      const path = await webFunction(engine(), async () => ({}), { http_method: 'POST' });
      const answer = await askWeb(engine(), path, { method: 'PUT' });
      expect(answer?.status).to.equal(405);
      expect(answer?.headers.allow?.join()).to.include('POST');
    });

    it('of http answer 500 where the function is missing or stops, and where the condition is missing', async () => {
      const peer = await rawPeer(engine());
      const path = await webFunction(engine(), async () => ({}), { condition_function_id: fresh('none') });
      const [id, at] = [fresh('stops'), `/${fresh('path')}`];
      const trigger = { type: 'registertrigger', id: crypto.randomUUID(), trigger_type: 'http' };
      peer.send({ ...trigger, function_id: id, config: { api_path: at } });
      const code = async (path: string, status: number) => {
        const answer = (await askWeb(engine(), path))!;
        expect(answer.status, answer.text).to.equal(status);
        return JSON.parse(answer.text).error.code;
      };
      expect(await code(path, 500)).to.equal('function_not_found');
      await until('the route', async () => (await askWeb(engine(), at))?.status !== 404);
      expect(await code(at, 500)).to.equal('function_not_found');
      const worker = await rawPeer(engine());
      worker.send({ type: 'registerfunction', id });
      await worker.settled();
      const stopped = code(at, 500);
      await worker.next({ type: 'invokefunction', function_id: id });
      worker.ws.terminate();
      expect(await stopped).to.equal('invocation_stopped');
    });

    it('of http answer 422 and say that the function was skipped where the condition does not hold', async () => {
      const condition = fresh('condition');
      sdkWorker(engine(), 'condition').registerFunction(condition, async () => false);
      await registered(condition);
      const path = await webFunction(engine(), async () => ({}), { condition_function_id: condition });
      const answer = (await askWeb(engine(), path))!;
      expect(answer.status).to.equal(422);
      expect(JSON.parse(answer.text)).to.deep.include({ skipped: true });
      expect(JSON.parse(answer.text).error.code).to.equal('CONDITION_NOT_MET');
    });

    it('of http send headers that can be sent beside those that cannot, and several of one name', async () => {
      const headers = {
        'X-Kept': '1',
        connection: 'keep-alive',
        'not a name': '1',
        'X-Split': 'a\r\nb: c',
      };
      const path = await webFunction(engine(), async () => ({ status_code: 203, headers, body: 'text' }));
      const answer = (await askWeb(engine(), path))!;
      expect(answer).to.deep.include({ status: 203, text: '"text"' });
      expect(answer.headers['x-kept']).to.deep.equal(['1']);
      expect(answer.headers).not.to.have.any.keys('not a name', 'x-split', 'b');
      const lines = ['Set-Cookie: a=1', 'Set-Cookie: b=2', 'Content-Type: application/json'];
      const list = await webFunction(engine(), async () => ({ headers: lines, body: '{"a":1}' }));
      const listed = (await askWeb(engine(), list))!;
      expect(listed.headers['set-cookie']).to.deep.equal(['a=1', 'b=2']);
      expect(listed.text).to.equal('{"a":1}');
    });

    it('of http stream with the headers that can be sent, whatever the others are', async () => {
      const path = await webFunction(engine(), async ({ response }: Frame) => {
        const set = (headers: Frame) =>
          response.sendMessage(JSON.stringify({ type: 'set_headers', headers }));
        set({ 'X-One': '1', connection: 'keep-alive', 'not a name': '1' });
        set({ 'X-Two': '2' });
        response.stream.end(Buffer.from('streamed'));
      });
      const answer = (await askWeb(engine(), path))!;
      expect(answer.text).to.equal('streamed');
      expect(answer.headers).to.deep.include({ 'x-one': ['1'], 'x-two': ['2'] });
    });

    it('of http without a path are refused', async () => {
      const [peer, id] = [await rawPeer(engine()), crypto.randomUUID()];
      peer.send({ type: 'registertrigger', id, trigger_type: 'http', function_id: 'f', config: {} });
      expect((await peer.next({ type: 'triggerregistrationresult', id })).error).to.deep.include({
        code: 'trigger_registration_failed',
        message: 'api_path is required for http triggers',
      });
    });

    it('of http stream bodies both ways', async () => {
      const [id, path] = [fresh('stream'), `/${fresh('path')}`];
      const worker = sdkWorker(engine(), 'web');
      worker.registerFunction(id, async ({ request_body, response }: Frame) => {
        const body: Buffer = await request_body.readAll();
        response.sendMessage(JSON.stringify({ type: 'set_status', status_code: 202 }));
        response.sendMessage(JSON.stringify({ type: 'set_headers', headers: { 'content-type': 'text/x' } }));
        response.stream.write(body);
        response.stream.end(Buffer.from('!'));
      });
      worker.registerTrigger({
        type: 'http',
        function_id: id,
        config: { api_path: path, http_method: 'POST' },
      });
      await registered(id);
      const { httpUrl, headers } = engine();
      const body = 'é'.repeat(100_000);
      let answer: Response | undefined;
      await until('the route', async () => {
        answer = await fetch(`${httpUrl}${path}`, { method: 'POST', headers, body });
        return answer.status === 202;
      });
      expect(answer!.headers.get('content-type')).to.equal('text/x');
      expect(await answer!.text()).to.equal(`${body}!`);
    });

    it('of cron call a function each second', async () => {
      const id = fresh('ticking');
      const worker = sdkWorker(engine(), 'cron');
      const ticks: Frame[] = [];
      worker.registerFunction(id, async (tick: Frame) => {
        ticks.push(tick);
      });
      worker.registerTrigger({ type: 'cron', function_id: id, config: { expression: '* * * * * *' } });
      await until('two ticks', () => ticks.length >= 2);
      expect(ticks[0]).to.have.keys('trigger', 'job_id', 'scheduled_time', 'actual_time');
      expect(ticks[0].trigger).to.equal('cron');
      expect(ticks[1].scheduled_time > ticks[0].scheduled_time).to.equal(true);
    });

    it('of cron take names of times, and count days of the week from Sunday, 1', async () => {
      const peer = await rawPeer(engine());
      for (const expression of ['@yearly', '@monthly', '@weekly', '@daily', '@hourly', '0 0 9 * * 2-6'])
        expect(await triggerRefusal(peer, 'cron', { expression }), expression).to.equal(null);
      for (const expression of ['@every 1s', '* * * * *', '61 * * * * *', '0 0 12 * * 0', 'daily'])
        expect(await triggerRefusal(peer, 'cron', { expression }), expression).not.to.equal(null);
      const worker = sdkWorker(engine(), 'cron');
      const ticks: number[] = [];
      const days = [1, 2, 3, 4, 5, 6, 7].map((day) => [day, fresh(`day${day}`)] as const);
      for (const [day, id] of days) {
        worker.registerFunction(id, async () => void ticks.push(day));
        worker.registerTrigger({ type: 'cron', function_id: id, config: { expression: `* * * * * ${day}` } });
      }
      const [before, after] = [new Date().getUTCDay() + 1, () => new Date().getUTCDay() + 1];
      await until('a tick', () => ticks.length > 0);
      expect(ticks[0]).to.be.oneOf([before, after()]);
    });
  });
}
