import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { until } from '../../test/fixtures/until.ts';
import { guarded, inBackground, logCallbackFailures } from './callbacks.ts';

const logged: { message: string; error: unknown }[] = [];
logCallbackFailures({ error: (message, facts) => void logged.push({ message, error: facts?.error }) });

const thrown = fc.oneof(
  fc.string().map((text) => new Error(text)),
  fc.string(),
  fc.constantFrom(null, undefined, Number.NaN, Object.create(null), Symbol('thrown'), { toString: null }),
);

/** Each way in which a callback fails. */
const failing = fc.tuple(thrown, fc.boolean()).map(([error, isAsync]) => ({
  error,
  work: isAsync
    ? () => Promise.reject(error)
    : () => {
        throw error;
      },
}));

describe('A guarded callback', () => {
  beforeEach(() => logged.splice(0));

  it('gives whatever it throws, now or later, to what ends its operation', async () => {
    await fc.assert(
      fc.asyncProperty(failing, async ({ error, work }) => {
        const { promise, reject } = Promise.withResolvers<never>();
        guarded('a test', work, reject)();
        const ended = await promise.catch((reason: unknown) => ({ reason }));
        expect(ended).to.deep.equal({ reason: error });
      }),
    );
    expect(logged).to.deep.equal([]);
  });

  it('is logged where nothing waits for it, and when ending its operation fails too', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(failing, fc.boolean(), async ({ error, work }, isWorse) => {
        logged.splice(0);
        const what = `test ${count++}`;
        const worse = new Error('worse');
        guarded(
          what,
          work,
          isWorse
            ? () => {
                throw worse;
              }
            : undefined,
        )();
        await until('the log', () => logged.length === 1);
        expect(logged[0]!.message).to.match(new RegExp(`^${what}: a callback failed: `));
        expect(Object.is(logged[0]!.error, isWorse ? worse : error)).to.equal(true);
      }),
    );
  });

  it('keeps the process alive at a timer, an event, a stream and an abort, and passes on what it gets', async () => {
    const seen: unknown[] = [];
    const callback = (what: string) =>
      guarded(what, (...args: unknown[]) => {
        seen.push([what, args.length]);
        throw new Error(`${what} failed`);
      });
    const timer = setInterval(callback('interval'), 1);
    setTimeout(callback('timeout'), 1);
    setImmediate(callback('immediate'));
    const emitter = new EventEmitter();
    emitter.on('word', callback('event'));
    emitter.emit('word', 1, 2);
    const stream = Readable.from(['piece']);
    stream.on('data', callback('stream'));
    await once(stream, 'end');
    const ending = new AbortController();
    ending.signal.addEventListener('abort', callback('abort'));
    ending.abort();
    const names = ['abort', 'event', 'immediate', 'interval', 'stream', 'timeout'];
    await until(
      'the log',
      () => new Set(logged.map(({ message }) => message.split(':')[0])).size === names.length,
    );
    clearInterval(timer);
    expect(seen).to.deep.include(['event', 2]).and.to.deep.include(['stream', 1]);
  });

  it('that fails at each tick of a timer is logged once a minute', () => {
    const tick = guarded('a tick', () => {
      throw new Error('again');
    });
    for (let count = 0; count < 1000; count++) tick();
    expect(logged.map(({ message }) => message)).to.deep.equal(['a tick: a callback failed: again']);
  });

  it('may be work that no caller waits for', async () => {
    inBackground('a test in the background', () => Promise.reject(new Error('unseen')));
    await until('the log', () => logged.length === 1);
    expect(logged[0]!.message).to.equal('a test in the background: a callback failed: unseen');
  });
});
