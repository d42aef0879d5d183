import { expect } from 'chai';
import { closeClients, type OwnEngine, openEngine, type RawPeer, rawPeer } from '../contract/bus-scene.ts';
import { until } from '../fixtures/until.ts';

/** More than Node's sockets take before they say that they are full. */
const limit = 256 * 1024;

describe('core-bus-engine and a worker that does not read', () => {
  let engine: OwnEngine;

  beforeEach(async () => {
    engine = await openEngine({
      change: (config) => ({ ...config, limits: { ...config.limits, buffered_bytes: limit } }),
    });
  });
  afterEach(async () => {
    await closeClients();
    await engine.close();
  });

  async function worker(): Promise<RawPeer> {
    const peer = await rawPeer(engine);
    peer.send({ type: 'registerfunction', id: 'slow.echo' });
    await peer.settled();
    return peer;
  }

  function connectionOf({ workerId }: RawPeer) {
    return [...engine.service.engine.workers.all()].find(({ id }) => id === workerId)!;
  }

  /** Calls until the engine holds calls for the worker that have not left. */
  async function fill(caller: RawPeer, slow: RawPeer): Promise<readonly Promise<unknown>[]> {
    slow.ws.pause();
    const calls: Promise<unknown>[] = [];
    const pad = 'x'.repeat(32_000);
    for (;;) {
      const call = caller.call('slow.echo', { nth: calls.length, pad });
      calls.push(call);
      await caller.settled();
      if (connectionOf(slow).sendBuffer.waiting >= limit) return calls;
    }
  }

  it('fails further calls to it instead of keeping them, and serves others', async () => {
    const [slow, caller] = [await worker(), await rawPeer(engine)];
    await fill(caller, slow);
    const { error } = await caller.call('slow.echo', {});
    expect(error).to.include({ code: 'bus_busy' });
    expect((await caller.call('engine::health::check', {})).result.status).to.equal('healthy');
    slow.ws.resume();
    await until('all to be read', () => connectionOf(slow).sendBuffer.waiting === 0);
    void caller.call('slow.echo', { last: true });
    await until('the last call', () => slow.frames.some(({ data }) => data?.last === true));
  });

  it('gives calls that never left it to the worker that comes back', async () => {
    const [slow, caller] = [await worker(), await rawPeer(engine)];
    const calls = await fill(caller, slow);
    slow.ws.terminate();
    const { workerId: previous_worker_id, reattachToken: reattach_token } = slow;
    const again = await rawPeer(engine);
    again.send({ type: 'reattach', previous_worker_id, reattach_token });
    again.send({ type: 'registerfunction', id: 'slow.echo' });
    await again.settled();
    const call = await again.next({ type: 'invokefunction' });
    again.send({
      type: 'invocationresult',
      invocation_id: call.invocation_id,
      function_id: 'slow.echo',
      result: call.data.nth,
    });
    // What had left for the worker that is gone is stopped; what had not is answered by the one that came back.
    const first = (await calls[0]) as { error: { code: string } };
    expect(first.error.code).to.equal('invocation_stopped');
    expect(await calls[call.data.nth]).to.include({ result: call.data.nth });
  });

  it('ends a caller that does not read its results', async () => {
    const [echo, deaf] = [await worker(), await rawPeer(engine)];
    const result = 'x'.repeat(32_000);
    echo.ws.on('message', (bytes) => {
      const { type, invocation_id, function_id } = JSON.parse(String(bytes));
      if (type === 'invokefunction')
        echo.send({ type: 'invocationresult', invocation_id, function_id, result });
    });
    deaf.ws.pause();
    const connection = connectionOf(deaf);
    for (let nth = 0; connectionOf(deaf) === connection; nth++) {
      deaf.send({
        type: 'invokefunction',
        invocation_id: crypto.randomUUID(),
        function_id: 'slow.echo',
        data: { nth },
      });
      await echo.settled();
      if (deaf.ws.readyState !== deaf.ws.OPEN) break;
    }
    await until('the warning', () =>
      engine.log.some((line) => line.includes('does not read what is sent to it')),
    );
  });

  it('ends who asks and asks and reads no answer', async () => {
    const deaf = await rawPeer(engine);
    const connection = connectionOf(deaf);
    deaf.ws.pause();
    const data = { include_internal: true };
    const list = { type: 'invokefunction', function_id: 'engine::functions::list', data };
    await until('its end', () => {
      for (let nth = 0; nth < 300; nth++) deaf.send({ ...list, invocation_id: crypto.randomUUID() });
      return connectionOf(deaf) !== connection;
    });
    expect(engine.log.some((line) => line.includes('does not read what is sent to it'))).to.equal(true);
  });
});
