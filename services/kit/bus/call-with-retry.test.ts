import { expect } from 'chai';
import { Interrupted } from '../errors.ts';
import { type BusCallOptions, BusError } from './bus.ts';
import { callWithRetry } from './call-with-retry.ts';

/** A bus that fails with these codes, one after the other, and then answers. */
function failing(codes: readonly string[]) {
  const left = [...codes];
  const asked: BusCallOptions[] = [];
  return {
    asked,
    async call(id: string, data: unknown, options: BusCallOptions = {}): Promise<unknown> {
      asked.push(options);
      const code = left.shift();
      if (code === 'interrupted') throw new Interrupted(code, 'stopped');
      if (code !== undefined) throw new BusError(code, `${id} failed with ${code}`);
      return data;
    },
  };
}

const quick = { withinMs: 60_000, firstWaitMs: 1 };

describe('calling with retries', () => {
  it('calls again after what passes', async () => {
    const passing = [
      'invocation_stopped',
      'TIMEOUT',
      'function_not_found',
      'connection_lost',
      'not_connected',
    ];
    const bus = failing(passing);
    expect(await callWithRetry(bus, 'test.f', { a: 1 }, quick)).to.deep.equal({ a: 1 });
    expect(bus.asked).to.have.lengthOf(passing.length + 1);
  });

  it('gives up at once where another call cannot help', async () => {
    for (const code of ['invocation_failed', 'call_too_large', 'FORBIDDEN', 'bus_closed', 'interrupted']) {
      const bus = failing([code]);
      expect((await failure(callWithRetry(bus, 'test.f', {}, quick))).code).to.equal(code);
      expect(bus.asked).to.have.lengthOf(1);
    }
  });

  it('waits for a function that is missing, but not for ever', async () => {
    const bus = failing(Array(1_000).fill('function_not_found'));
    const error = await failure(callWithRetry(bus, 'test.f', {}, { ...quick, missingMs: 20 }));
    expect(error.code).to.equal('function_not_found');
    expect(bus.asked.length).to.be.within(2, 30);
  });

  it('gives the last error when its time is over, and no attempt more than is left', async () => {
    const bus = failing(Array(1_000).fill('TIMEOUT'));
    const error = await failure(callWithRetry(bus, 'test.f', {}, { withinMs: 40, firstWaitMs: 1 }));
    expect(error.code).to.equal('TIMEOUT');
    expect(bus.asked).to.not.deep.equal([]);
    for (const { timeoutMs } of bus.asked) expect(timeoutMs).to.be.within(1, 40);
  });

  it('stops waiting when nobody wants the result', async () => {
    const stop = new AbortController();
    const bus = failing(['TIMEOUT', 'interrupted']);
    const options = { withinMs: 1e6, firstWaitMs: 1e6, signal: stop.signal };
    const call = callWithRetry(bus, 'test.f', {}, options);
    setImmediate(() => stop.abort());
    expect((await failure(call)).code).to.equal('interrupted');
  });
});

async function failure(work: Promise<unknown>): Promise<Error & { code: string }> {
  try {
    await work;
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('it did not fail');
}
