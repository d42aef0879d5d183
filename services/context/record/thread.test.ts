import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { CoreError, Refused } from '#kit/errors.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { Thread } from './thread.ts';

const errorCopy = new URL('./error-copy.ts', import.meta.url).href;
const errors = new URL('../../kit/errors.ts', import.meta.url).href;

/** Answers `double`; `refuse` and `break` throw, `die` ends the thread, `never` does not answer. */
const script = `
  import { parentPort, workerData } from 'node:worker_threads';
  import { copyOf } from ${JSON.stringify(errorCopy)};
  import { Refused } from ${JSON.stringify(errors)};
  parentPort.on('message', answer);
  function answer({ id, name, input }) {
    if (name === 'die') throw new Error('out of luck');
    if (name === 'never') return;
    try {
      if (name === 'refuse') throw new Refused('not_so', 'no', { hint: 'Ask again.', facts: { input }, retryAfter: 3 });
      if (name === 'break') throw Object.assign(new RangeError('broke'), { code: 'ERR_X' });
      parentPort.postMessage({ id, value: input * 2 + workerData.more });
    } catch (error) { parentPort.postMessage({ id, error: copyOf(error) }); }
  }`;

describe('A thread that answers calls', () => {
  let thread: Thread;
  beforeEach(() => {
    const path = join(temporaryFolder(), 'script.mjs');
    writeFileSync(path, script);
    thread = new Thread(pathToFileURL(path), { more: 1 });
  });
  afterEach(() => thread.close());
  const failure = (name: string) => thread.call(name, 7).catch((error: unknown) => error);

  it('answers many at once, each its own', async () => {
    const answers = await Promise.all([1, 2, 3].map((n) => thread.call<number>('double', n)));
    expect(answers).to.deep.equal([3, 5, 7]);
    expect(thread.load).to.equal(0);
  });

  it("brings Core's errors over with class, code, hint and facts", async () => {
    const error = (await failure('refuse')) as CoreError;
    expect(error)
      .to.be.instanceOf(Refused)
      .and.include({ code: 'not_so', hint: 'Ask again.', retryAfter: 3 });
    expect(error.facts).to.deep.equal({ input: 7 });
  });

  it('brings other errors over with name, code and stack', async () => {
    const error = (await failure('break')) as Error;
    expect(error).not.to.be.instanceOf(CoreError);
    expect(error).to.include({ name: 'RangeError', message: 'broke', code: 'ERR_X' });
    expect(error.stack).to.contain('script.mjs');
  });

  it('refuses what cannot be sent, and nothing that is sent with it', async () => {
    const good = thread.call<number>('double', 4);
    const bad = thread.call('double', () => {}).catch((error: unknown) => error);
    expect(await bad)
      .to.be.instanceOf(Error)
      .and.have.property('message')
      .that.contains('could not be cloned');
    expect(await good).to.equal(9);
    expect(thread.load).to.equal(0);
  });

  it('notifies all who wait when it dies, and all who come later', async () => {
    const waiting = failure('never');
    const died = (await failure('die')) as Error;
    expect(died.message).to.equal('out of luck');
    expect(await waiting).to.equal(died);
    expect(await thread.ended).to.equal(died);
    expect(await failure('double')).to.equal(died);
  });

  it('notifies those who wait that it was closed', async () => {
    const waiting = failure('never');
    await thread.close();
    expect(await waiting).to.include({ code: 'thread_ended' });
  });
});
