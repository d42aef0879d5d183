import { expect } from 'chai';
import { DeliveryFailed, type Message } from '#kit/webhooks/webhook.ts';
import type { Dashboard } from '../../services/bridge/sync/dashboard.ts';

/** The other side of a dashboard's adapter. */
export interface DashboardBench {
  readonly dashboard: Dashboard;
  /** Keys and bodies that it has taken, in order. */
  readonly taken: readonly Message[];
  /** What it does with the next messages. */
  behave(
    how:
      | 'take'
      | 'take_wordily'
      | 'take_without_end'
      | 'refuse'
      | 'be_busy'
      | 'fail'
      | 'hang'
      | 'cut_off'
      | 'send_elsewhere',
  ): void;
  close(): Promise<void>;
}

/** What every adapter of a dashboard is held to. */
export function dashboardContract(make: () => Promise<DashboardBench>): void {
  let bench: DashboardBench;
  const message: Message = { key: 'board/run_1/completed', body: '{"run":"\\u001b ü"}' };

  beforeEach(async () => {
    bench = await make();
  });
  afterEach(() => bench.close());

  async function failureOf(work: Promise<void>): Promise<DeliveryFailed> {
    try {
      await work;
    } catch (error) {
      expect(error).to.be.instanceOf(DeliveryFailed);
      return error as DeliveryFailed;
    }
    throw new Error('it was taken');
  }

  it('gets the message byte for byte, under a key that names it', async () => {
    await bench.dashboard.deliver(message);
    expect(bench.taken).to.deep.equal([message]);
  });

  for (const how of ['take_wordily', 'take_without_end'] as const) {
    it(`took what it says that it took, however it goes on: ${how}`, async () => {
      bench.behave(how);
      await bench.dashboard.deliver(message);
      expect(bench.taken).to.deep.equal([message]);
    });
  }

  it('gets the same key again, so that it can recognise a message that it has', async () => {
    bench.behave('cut_off');
    await failureOf(bench.dashboard.deliver(message));
    bench.behave('take');
    await bench.dashboard.deliver(message);
    expect(new Set(bench.taken.map(({ key }) => key))).to.deep.equal(new Set([message.key]));
  });

  it('says that it refuses one message, in its own words', async () => {
    bench.behave('refuse');
    const { ofMessage, message: words } = await failureOf(bench.dashboard.deliver(message));
    expect(ofMessage).to.equal(true);
    expect(words).to.contain('no such board');
  });

  it('says how long it wants to be left alone', async () => {
    bench.behave('be_busy');
    expect(await failureOf(bench.dashboard.deliver(message))).to.include({
      ofMessage: false,
      retryAfter: 17,
    });
  });

  for (const how of ['fail', 'hang', 'cut_off', 'send_elsewhere'] as const) {
    it(`did not take what it did not say that it took: ${how}`, async () => {
      bench.behave(how);
      await failureOf(bench.dashboard.deliver(message));
      if (how !== 'cut_off') expect(bench.taken).to.deep.equal([]);
    });
  }

  it('is left when nobody wants to know any more', async () => {
    bench.behave('hang');
    const ending = new AbortController();
    const work = failureOf(bench.dashboard.deliver(message, ending.signal));
    ending.abort();
    await work;
  });
}
