import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openBindings } from '../../services/bus-engine/cron/binding-store.ts';
import { closeClients, type OwnEngine, openEngine, rawPeer } from '../contract/bus-scene.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('core-bus-engine and values that it would keep, announce or pass on', () => {
  let engine: OwnEngine;

  beforeEach(async () => {
    engine = await openEngine({
      change: (config) => ({ ...config, limits: { ...config.limits, connections: 20 } }),
    });
  });
  afterEach(async () => {
    await closeClients();
    await engine.close();
  });

  it('takes no metadata that is nested deeply or large, and lists functions as before', async () => {
    const peer = await rawPeer(engine);
    for (const levels of [101, 900, 30_000]) {
      peer.send(`{"type":"registerfunction","id":"hostile.${levels}","metadata":${deep(levels)}}`);
      const { function_id } = await peer.next({ type: 'registrationrejected' });
      expect(function_id).to.equal(`hostile.${levels}`);
    }
    peer.send({ type: 'registerfunction', id: 'hostile.large', metadata: 'x'.repeat(70_000) });
    const { code } = await peer.next({ type: 'registrationrejected', function_id: 'hostile.large' });
    expect(code).to.equal('too_much_metadata');
    const { result } = await peer.call('engine::functions::list', { prefix: 'hostile.' });
    expect(result.functions).to.deep.equal([]);
  });

  it('takes no trigger with such metadata, by frame or by call', async () => {
    const peer = await rawPeer(engine);
    const trigger = '"trigger_type":"engine::workers-available","function_id":"f","config":{}';
    peer.send(`{"type":"registertrigger","id":"t",${trigger},"metadata":${deep(900)}}`);
    const refused = await peer.next({ type: 'triggerregistrationresult', id: 't' });
    expect(refused.error.message).to.equal('metadata: must be nested at most 100 levels deep');
    const call = '"type":"invokefunction","invocation_id":"i","function_id":"engine::register_trigger"';
    peer.send(`{${call},"data":{${trigger},"metadata":${deep(900)}}}`);
    expect((await peer.next({ invocation_id: 'i' })).error.code).to.equal('trigger_registration_failed');
  });

  it('sets aside a stored trigger that cannot be used', async () => {
    const folder = temporaryFolder();
    const { store, close } = openBindings(join(folder, 'state/bus'));
    const metadata = JSON.parse(deep(2_000));
    const stored = { id: 'poison', type: 'engine::workers-available', functionId: 'f', config: {}, metadata };
    store.put({ ...stored, token: 'worker', durable: true, due: null });
    close();
    await engine.close();
    engine = await openEngine({ folder });
    const peer = await rawPeer({ ...engine, headers: engine.token('another') });
    await peer.call('engine::workers::register', { name: 'announced' });
    const { result } = await peer.call('engine::registered-triggers::list', {});
    expect(result.registered_triggers).to.deep.equal([]);
    const after = new DatabaseSync(store.path, { readOnly: true });
    expect(after.prepare('SELECT id FROM set_aside').all()).to.have.length(1);
    expect(after.prepare('SELECT id FROM binding').all()).to.have.length(0);
    after.close();
  });

  it('ends a call whose answer is nested too deeply, in whatever order its members come', async () => {
    const [worker, caller] = [await rawPeer(engine), await rawPeer(engine)];
    worker.send({ type: 'registerfunction', id: 'hostile.answer' });
    await worker.settled();
    const answer = caller.call('hostile.answer', {});
    const { invocation_id } = await worker.next({ type: 'invokefunction' });
    const names = `"invocation_id":"${invocation_id}","function_id":"hostile.answer"`;
    worker.send(`{"result":${deep(30_000)},${names},"type":"invocationresult"}`);
    expect((await answer).error).to.include({ code: 'invocation_failed' });
  });

  it('frees a path when both who wanted it are gone', async () => {
    const config = { api_path: '/hostile' };
    const register = { type: 'registertrigger', trigger_type: 'http', config };
    const [first, second, third] = [await rawPeer(engine), await rawPeer(engine), await rawPeer(engine)];
    first.send({ ...register, id: 'a', function_id: 'fa' });
    await first.settled();
    second.send({ ...register, id: 'b', function_id: 'fb' });
    const { error } = await second.next({ type: 'triggerregistrationresult', id: 'b' });
    expect(error.message).to.include('this one answers when that one is gone');
    first.ws.terminate();
    second.ws.terminate();
    await until('the end of the others', () => engine.service.engine.workers.size === 1);
    third.send({ ...register, id: 'c', function_id: 'fc' });
    await third.settled();
    expect(third.frames).to.deep.equal([]);
  });

  it('keeps channels of one connection from taking those of others, and ends them with it', async () => {
    const flooder = await rawPeer({ ...engine, headers: engine.token('flooder') });
    const create = { type: 'invokefunction', function_id: 'engine::channels::create', data: {} };
    for (let nth = 0; nth < 1_000; nth++) flooder.send(create);
    expect((await flooder.call('engine::channels::create', {})).error.message).to.include(
      'too many channels',
    );
    expect(engine.service.engine.channels.size).to.equal(1_000);
    const other = await rawPeer(engine);
    expect((await other.call('engine::channels::create', {})).result.reader).to.include({
      direction: 'read',
    });
    flooder.ws.terminate();
    await until('the end of its channels', () => engine.service.engine.channels.size === 1);
  });

  it('leaves places for the workers of the platform, and for others', async () => {
    const [reader, other] = [engine.token('reader', ['read']), engine.token('other')];
    const open = async (headers: typeof reader) => {
      for (let nth = 0; ; nth++)
        if ((await rawPeer({ ...engine, headers }).catch((error) => error)) instanceof Error) return nth;
    };
    expect([await open(reader), await open(other), await open(engine.headers)]).to.deep.equal([10, 8, 2]);
  });

  it('refuses a cron expression that is long before it is unfolded', async () => {
    const peer = await rawPeer(engine);
    const { error } = await peer.call('engine::register_trigger', {
      trigger_type: 'cron',
      function_id: 'f',
      config: { expression: `${'0,'.repeat(20_000)}0 * * * * *` },
    });
    expect(error.message).to.include('has 40011 characters: must have at most 200');
  });
});
