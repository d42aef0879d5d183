import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { closeClients, freshName, type RawPeer, rawPeer } from '../contract/bus-scene.ts';
import { type IiiServer, startIii } from '../fixtures/containers/iii.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

const stores = ['iii-queue', 'iii-state', 'iii-stream', 'iii-cron'];
/** Twenty times the interval of our configuration, and less than half of the default. */
const writtenMs = 2_000;
const count = 20;

describeWith(['iii'], 'iii, as we configure it', () => {
  let iii: IiiServer;

  before(async () => {
    iii = await startIii();
  });
  after(() => iii?.remove());
  afterEach(closeClients);

  const connect = () => rawPeer({ ...iii, headers: {} });
  const numbers = Array.from({ length: count }, (_, n) => n);

  async function done(peer: RawPeer, functionId: string, data: unknown): Promise<unknown> {
    const { result, error } = await peer.call(functionId, data);
    expect(error, `${functionId}: ${JSON.stringify(error)}`).to.equal(undefined);
    return result;
  }

  /** Resolves when a subscriber is there that answers nothing: its messages stay in the queue. */
  async function subscribe(peer: RawPeer, topic: string): Promise<void> {
    peer.send({ type: 'registerfunction', id: topic });
    peer.send({
      type: 'registertrigger',
      id: crypto.randomUUID(),
      trigger_type: 'durable:subscriber',
      function_id: topic,
      config: { topic },
    });
    await until('the subscriber', async () => {
      const { result } = await peer.call('engine::registered-triggers::list', { function_id: topic });
      return result.registered_triggers.length === 1;
    });
  }

  it('writes what each store holds after 100 ms', async () => {
    const peer = await connect();
    for (const id of stores) {
      const { value } = (await done(peer, 'configuration::get', { id })) as never;
      expect(value, id)
        .to.have.nested.property('adapter.config')
        .that.includes({ store_method: 'file_based', save_interval_ms: 100 });
    }
  });

  it('keeps messages, state and streams that it acknowledged through a SIGKILL', async () => {
    const [topic, scope] = [freshName('topic'), freshName('scope')];
    const item = (n: number) => ({ stream_name: scope, group_id: 'all', item_id: `i${n}` });
    const depth = async (peer: RawPeer) =>
      ((await done(peer, 'engine::queue::topic_stats', { topic })) as { depth: number }).depth;
    const first = await connect();
    await subscribe(first, topic);
    for (const n of numbers) {
      await done(first, 'iii::durable::publish', { topic, data: { n } });
      await done(first, 'state::set', { scope, key: `k${n}`, value: n });
      await done(first, 'stream::set', { ...item(n), data: { n } });
    }
    expect(await depth(first)).to.equal(count);
    await pause(writtenMs);
    await iii.kill();
    await iii.start();
    const after = await connect();
    await subscribe(after, topic);
    for (const n of numbers) {
      expect(await done(after, 'state::get', { scope, key: `k${n}` })).to.equal(n);
      expect(await done(after, 'stream::get', item(n))).to.deep.equal({ n });
    }
    expect(await depth(after)).to.equal(count);
  });
});
