import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Unavailable } from '../errors.ts';
import { Probe } from './probe.ts';

const options = { timeoutMs: 60_000, startMs: 0 };

describe('A probe', () => {
  it('asks once for all who look, and again when the answer is old', async () => {
    let asked = 0;
    const ask = async () => `answer ${++asked}`;
    const probe = new Probe(ask, { ...options, everyMs: 60_000 });
    const [one, other] = await Promise.all([probe.check(), probe.check()]);
    expect(one).to.deep.include({ status: 'ok', detail: 'answer 1' });
    expect(other).to.deep.equal(one);
    expect((await probe.check()).detail).to.equal('answer 1');
    const impatient = new Probe(ask, { ...options, everyMs: -1 });
    await impatient.check();
    expect((await impatient.check()).detail).to.equal('answer 3');
  });

  it('says what is wrong, with what to do', async () => {
    const probe = new Probe(async () => {
      throw new Unavailable('x', 'it refuses', { hint: 'Allow it.' });
    }, options);
    expect(await probe.check()).to.deep.include({ status: 'degraded', detail: 'it refuses (Allow it.)' });
  });

  it('never says that what is silent is not there, and keeps what it knows meanwhile', async () => {
    const silent = new Probe(() => new Promise(() => {}), { ...options, timeoutMs: 40, waitMs: 1 });
    expect((await silent.check()).detail).to.match(/^no answer yet, asked \d+ s ago$/);
    const late = await new Probe(() => new Promise(() => {}), {
      ...options,
      timeoutMs: 1,
      waitMs: 60_000,
    }).check();
    expect(late).to.deep.include({ status: 'degraded', detail: 'did not answer within 0.001 s' });

    let answer: Promise<string> = Promise.resolve('well');
    const probe = new Probe(() => answer, { ...options, everyMs: -1, waitMs: 50 });
    await probe.check();
    answer = new Promise(() => {});
    const { status, detail } = await probe.check();
    expect(status).to.equal('ok');
    expect(detail).to.match(/^well \(\d+ s ago; no answer yet, asked \d+ s ago\)$/);
  });

  it('of what is required asks each time, takes nobody who is busy for dead, and fails after its limit', async () => {
    let asked = 0;
    let answer = async (): Promise<string> => 'well';
    const ask = () => {
      asked++;
      return answer();
    };
    const probe = new Probe(ask, { timeoutMs: 300, waitMs: 50, required: true });
    for (const nth of [1, 2]) {
      expect((await probe.check()).status).to.equal('ok');
      expect(asked).to.equal(nth);
    }
    answer = () => new Promise(() => {});
    const busy = await probe.check();
    expect(busy.status).to.equal('degraded');
    expect(busy.detail).to.match(/^no answer yet, asked \d+ s ago$/);
    await pause(400);
    const dead = await probe.check();
    expect(dead.status).to.equal('failing');
    expect(dead.detail).to.contain('did not answer within 0.3 s');
    await pause(400);
    answer = async () => 'well';
    expect((await probe.check()).status).to.equal('ok');
  });

  it('keeps nobody waiting while its service starts', async () => {
    const probe = new Probe(() => new Promise(() => {}), { timeoutMs: 60_000, waitMs: 60_000 });
    expect(await probe.check()).to.deep.include({ status: 'ok' });
  });
});
