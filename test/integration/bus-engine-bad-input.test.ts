import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  closeClients,
  type Frame,
  type OwnEngine,
  openEngine,
  rawPeer,
  webFunction,
} from '../contract/bus-scene.ts';
import { until } from '../fixtures/until.ts';

const flooderPath = fileURLToPath(new URL('bus-engine-flooder.ts', import.meta.url));

describe('core-bus-engine and what it should not be sent', () => {
  let engine: OwnEngine;

  before(async () => {
    engine = await openEngine({
      change: (config) => ({
        ...config,
        limits: { ...config.limits, functions: 5, pending_calls: 3, triggers: 2, connections: 20 },
      }),
    });
  });
  after(() => engine.close());
  afterEach(closeClients);

  async function echo(id: string) {
    const worker = await rawPeer(engine);
    worker.send({ type: 'registerfunction', id });
    await worker.settled();
    worker.ws.on('message', (bytes) => {
      const { type, invocation_id, function_id, data } = JSON.parse(String(bytes));
      if (type === 'invokefunction')
        worker.send({ type: 'invocationresult', invocation_id, function_id, result: data });
    });
    return worker;
  }

  it('ends a connection that sends a frame of 64 MB', async () => {
    const [caller, giant] = [await rawPeer(engine), await rawPeer(engine)];
    giant.ws.send(Buffer.alloc(64 * 1024 * 1024, 'x'), { binary: false });
    expect(await giant.closed).to.be.oneOf([1006, 1009]);
    await caller.settled();
  });

  it('ends it too when the giant comes in pieces', async () => {
    const giant = await rawPeer(engine);
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let sent = 0; sent < 20 && giant.ws.readyState === giant.ws.OPEN; sent++)
      giant.ws.send(piece, { binary: false, fin: false });
    expect(await giant.closed).to.be.oneOf([1006, 1009]);
  });

  it('ends a connection whose text is no UTF-8', async () => {
    const peer = await rawPeer(engine);
    peer.ws.send(Buffer.from([0xff, 0xfe, 0xfd]), { binary: false });
    expect(await peer.closed).to.be.oneOf([1006, 1007]);
  });

  it('says of a value that is nested very deeply that it is not passed on', async () => {
    const worker = await echo('bad.deep');
    const caller = await rawPeer(engine);
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const id = crypto.randomUUID();
    const call = `{"type":"invokefunction","invocation_id":"${id}","function_id":"bad.deep","data":`;
    for (const data of [deep(100_000), `{"_caller_worker_id":1,"a":${deep(30_000)}}`]) {
      caller.send(`${call}${data}}`);
      const answer = await caller.next({ type: 'invocationresult', invocation_id: id });
      expect(answer.error).to.include({ code: 'invalid_frame' });
    }
    worker.ws.removeAllListeners('message');
    caller.send(`${call}1}`);
    await until('the call', () => engine.service.engine.calls.pending === 1);
    const result = `{"type":"invocationresult","invocation_id":"${id}","function_id":"bad.deep","result":`;
    worker.send(`${result}${deep(100_000)}}`);
    const failed = await caller.next({ type: 'invocationresult', invocation_id: id });
    expect(failed.error).to.include({ code: 'invocation_failed' });
  });

  it('whatever frames come, answers the next one', async () => {
    await echo('bad.any');
    const peer = await rawPeer(engine);
    const types = ['invokefunction', 'invocationresult', 'reattach', 'registerfunction', 'registertrigger'];
    const frames = fc.sample(
      fc.record(
        {
          type: fc.oneof(fc.constantFrom(...types, 'unregistertrigger', 'registertriggertype'), fc.string()),
          id: fc.jsonValue(),
          invocation_id: fc.jsonValue(),
          function_id: fc.oneof(fc.constant('bad.any'), fc.jsonValue()),
          trigger_type: fc.oneof(fc.constantFrom('http', 'cron'), fc.jsonValue()),
          config: fc.jsonValue(),
          data: fc.jsonValue(),
          result: fc.jsonValue(),
          error: fc.jsonValue(),
          action: fc.jsonValue(),
          metadata: fc.jsonValue(),
        },
        { requiredKeys: ['type'] },
      ),
      { numRuns: 300, seed: 5 },
    );
    for (const frame of frames) peer.send(frame);
    for (const text of fc.sample(fc.string(), { numRuns: 100, seed: 6 })) peer.send(text);
    await peer.settled();
    expect((await peer.call('bad.any', { a: 1 })).result.a).to.equal(1);
    peer.ws.terminate();
    // A flood of mistakes is reported in a few lines.
    const lines = engine.log.filter((line) => line.includes('frame not understood'));
    expect(lines.length).to.be.within(1, 30);
  });

  it('refuses a member that stands twice, in calls, results and registrations', async () => {
    const [worker, caller] = [await echo('bad.twice'), await rawPeer(engine)];
    const invocation_id = crypto.randomUUID();
    const before = `{"type":"invokefunction","invocation_id":"${invocation_id}","function_id":"bad.twice"`;
    for (const frame of [
      `${before},"data":{"approval":"rejected","appro\\u0076al":"approved"}}`,
      `${before},"function_id":"bad.twice","data":{}}`,
    ]) {
      caller.send(frame);
      const { error } = await caller.next({ type: 'invocationresult', invocation_id });
      expect(error.message).to.match(/\/(data\/approval|function_id) stands twice: must be there once/);
    }
    worker.send('{"type":"registerfunction","id":"bad.one","id":"bad.two"}');
    await worker.settled();
    for (const id of ['bad.one', 'bad.two'])
      expect((await caller.call(id, {})).error, id).to.include({ code: 'function_not_found' });
    expect((await caller.call('bad.twice', { a: 1 })).result).to.deep.include({ a: 1 });
  });

  it('refuses it in the body of an HTTP trigger, before its function sees it', async () => {
    let seen = 0;
    const answered = async () => {
      seen++;
      return { status_code: 200, body: {} };
    };
    const path = await webFunction(engine, answered, { http_method: 'POST' });
    const post = async (body: string) => {
      const headers = { ...engine.headers, 'content-type': 'application/json' };
      const answer = await fetch(`${engine.httpUrl}${path}`, { method: 'POST', headers, body });
      return { status: answer.status, text: await answer.text() };
    };
    const refused = await post('{"limit":1,"limit":2}');
    expect(refused.status).to.equal(400);
    expect(refused.text).to.contain('/limit stands twice: must be there once');
    expect(seen).to.equal(0);
  });

  for (const kind of ['broken', 'calls']) {
    it(`serves others while one floods it with frames: ${kind}`, async () => {
      const id = `bad.flooded.${kind}`;
      await echo(id);
      const caller = await rawPeer(engine);
      const flooder = fork(flooderPath, [engine.url, engine.headers.authorization!, kind], {
        stdio: 'inherit',
      });
      try {
        await once(flooder, 'message');
        for (let n = 0; n < 10; n++) expect((await caller.call(id, { n })).result.n).to.equal(n);
        expect(flooder.exitCode).to.equal(null);
      } finally {
        const ended = once(flooder, 'exit');
        flooder.kill('SIGKILL');
        await ended;
      }
    });
  }

  it('ends the call of a worker that dies in the middle of its answer', async () => {
    const [worker, caller] = [await rawPeer(engine), await rawPeer(engine)];
    worker.send({ type: 'registerfunction', id: 'bad.half' });
    await worker.settled();
    const answer = caller.call('bad.half', {});
    await worker.next({ type: 'invokefunction' });
    const socket = (worker.ws as Frame)._socket as Socket;
    // A masked text frame of 256 bytes, of which ten come.
    socket.end(Buffer.concat([Buffer.from([0x81, 0xfe, 1, 0, 0, 0, 0, 0]), Buffer.from('{"type":"i')]));
    expect((await answer).error.code).to.equal('invocation_stopped');
  });

  it('forgets the call of a caller that dies, and the answer that comes for it', async () => {
    const [worker, caller] = [await rawPeer(engine), await rawPeer(engine)];
    worker.send({ type: 'registerfunction', id: 'bad.late' });
    await worker.settled();
    void caller.call('bad.late', {});
    const { invocation_id } = await worker.next({ type: 'invokefunction' });
    caller.ws.terminate();
    await until('the end of the call', () => engine.service.engine.calls.pending === 0);
    worker.send({ type: 'invocationresult', invocation_id, function_id: 'bad.late', result: 1 });
    await worker.settled();
  });

  it('limits functions, triggers and calls of one connection', async () => {
    const peer = await rawPeer(engine);
    for (let nth = 0; nth < 6; nth++) peer.send({ type: 'registerfunction', id: `bad.limit.${nth}` });
    expect(await peer.next({ type: 'registrationrejected' })).to.include({
      code: 'too_many_functions',
      function_id: 'bad.limit.5',
    });
    peer.send({ type: 'registerfunction', id: 'bad.limit.0', description: 'again' });
    for (let nth = 0; nth < 3; nth++)
      peer.send({
        type: 'registertrigger',
        id: `limit-${nth}`,
        trigger_type: 'bad.type',
        function_id: 'f',
        config: {},
      });
    const { error } = await peer.next({ type: 'triggerregistrationresult', id: 'limit-2' });
    expect(error.message).to.include('2 triggers');
    const caller = await rawPeer(engine);
    const calls = [1, 2, 3, 4].map((n) => caller.call('bad.limit.0', { n }));
    const refused = (await Promise.race(calls)) as Frame;
    expect(refused.error).to.include({ code: 'bus_busy' });
    expect(refused.error.message).to.include('3 calls without a result, the limit');
  });

  it('limits what a worker leaves unanswered, also where nobody waits', async () => {
    const [worker, caller] = [await rawPeer(engine), await rawPeer(engine)];
    worker.send({ type: 'registerfunction', id: 'bad.void' });
    await worker.settled();
    const call = { type: 'invokefunction', function_id: 'bad.void', data: {}, action: { type: 'void' } };
    for (let nth = 0; nth < 31; nth++) caller.send(call);
    const { error } = await caller.call('bad.void', {});
    expect(error.message).to.equal('the worker has not answered 30 calls, the limit');
    await worker.settled();
    expect(worker.frames.filter(({ type }) => type === 'invokefunction')).to.have.length(30);
  });

  it('limits connections, and takes new ones when others go', async () => {
    await until('the end of all workers', () => engine.service.engine.workers.size === 0);
    const peers = [];
    for (;;) {
      const peer = await rawPeer(engine).catch((error) => error);
      if (peer instanceof Error) {
        expect(peer).to.have.property('status', 503);
        expect(peers).to.have.length(20);
        break;
      }
      peers.push(peer);
    }
    peers[0].ws.terminate();
    await until('a place', async () => !((await rawPeer(engine).catch((error) => error)) instanceof Error));
  });
});
