import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { Conflict, type Interrupted, Refused } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { until } from '../../../test/fixtures/until.ts';
import type { Watch } from '../agent.ts';
import { BackgroundWork } from './background-work.ts';

const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, child: () => silent };

/** Work that lasts until it is stopped. */
function untilStopped(seen: { stopped: boolean }) {
  return async ({ signal, progress }: Watch) => {
    progress({ step: 'one', state: 'started', message: 'begun' });
    await setTimeout(60_000, undefined, { signal }).catch(() => {});
    seen.stopped = true;
  };
}

describe('Background work', () => {
  it('reports a refusal before the start to the caller', async () => {
    const work = new BackgroundWork(silent);
    const refusal = await work
      .start('run_1', 'test', () => Promise.reject(new Refused('remote_mismatch', 'another repository')))
      .catch((error) => error);
    expect(refusal).to.have.property('code', 'remote_mismatch');
    await until('its end', () => !work.isAtWork('run_1'));
  });

  it('keeps a failure after the start to itself, and notifies watchers', async () => {
    const work = new BackgroundWork(silent);
    const updates: unknown[] = [];
    work.watch('run_1', (update) => updates.push(update?.message ?? null));
    const { promise: seen, resolve: goOn } = Promise.withResolvers<void>();
    await work.start('run_1', 'test', async ({ progress }) => {
      progress({ step: 'one', state: 'started', message: 'begun' });
      await seen;
      throw new Error('later');
    });
    expect(work.isAtWork('run_1')).to.equal(true);
    goOn();
    await until('its end', () => updates.length > 1);
    expect(updates).to.deep.equal(['begun', null]);
  });

  it('reports to each watcher until that one ends its watch', async () => {
    const work = new BackgroundWork(silent);
    const seen: string[] = [];
    const unwatch = ['first', 'second'].map((name) => work.watch('run_1', () => seen.push(name)));
    work.watch('run_2', () => seen.push('other'));
    work.changed('run_1');
    unwatch[0]!();
    work.changed('run_1');
    unwatch[1]!();
    work.changed('run_1');
    expect(seen).to.deep.equal(['first', 'second', 'second']);
  });

  it('is logged with how it ended, and says who is at work and why it was stopped', async () => {
    const logged: unknown[] = [];
    const log = (level: string) => (message: string, facts: object) =>
      void logged.push([level, message, facts]);
    const logger = { ...silent, info: log('info'), warn: log('warn') } as Logger;
    const work = new BackgroundWork(logger);
    await work.start('run_1', 'planning', async () => {});
    const error = new Refused('remote_mismatch', 'another repository');
    await work.start('run_1', 'execution', () => Promise.reject(error)).catch(() => {});
    await until('both ends', () => logged.length === 2);
    expect(logged).to.deep.equal([
      ['info', 'planning ended', { run_id: 'run_1' }],
      ['warn', 'execution ended: another repository', { run_id: 'run_1', code: 'remote_mismatch', error }],
    ]);

    const reasons: unknown[] = [];
    const stopped = async ({ signal, progress }: Watch) => {
      progress({ step: 'one', state: 'started', message: 'begun' });
      await setTimeout(60_000, undefined, { signal }).catch(() => {});
      reasons.push((signal.reason as Interrupted).code);
    };
    await work.start('run_1', 'undo', stopped);
    await work.start('run_2', 'undo', stopped);
    const busy = await work.start('run_1', 'second', async () => {}).catch((error) => error);
    expect(busy.message).to.equal('run run_1 is at work already: undo');
    work.stop('run_1');
    await until('its end', () => !work.isAtWork('run_1'));
    await work.close();
    expect(reasons).to.deep.equal(['cancelled', 'interrupted']);
  });

  it('is one for each run, until it is stopped', async () => {
    const work = new BackgroundWork(silent);
    const seen = { stopped: false };
    await work.start('run_1', 'first', untilStopped(seen));
    const second = await work.start('run_1', 'second', untilStopped(seen)).catch((error) => error);
    expect(second).to.be.instanceOf(Conflict).with.property('code', 'run_busy');
    work.stop('run_2');
    expect(seen.stopped).to.equal(false);
    work.stop('run_1');
    await until('its end', () => seen.stopped);
    await work.start('run_1', 'third', async () => {});
  });

  it('begins what is asked for at the last event of the work before, once', async () => {
    const work = new BackgroundWork(silent);
    await work.start('run_1', 'first', async ({ progress }) => {
      progress({ step: 'one', state: 'started', message: 'begun' });
      await setTimeout(50);
    });
    const seen = { stopped: false };
    const asked = ['second', 'third'].map((what) => work.start('run_1', what, untilStopped(seen)));
    const results = await Promise.allSettled(asked);
    expect(results.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
    await work.close();
  });

  it('has room for so many, and none when the daemon ends', async () => {
    const work = new BackgroundWork(silent);
    const seen = { stopped: false };
    for (let index = 0; index < 16; index++) await work.start(`run_${index}`, 'test', untilStopped(seen));
    const refused = await work.start('run_16', 'test', untilStopped(seen)).catch((error) => error);
    expect(refused).to.include({ code: 'too_busy', retryAfter: 30 });
    expect(work.isAtWork('run_16')).to.equal(false);
    await work.close();
    expect(seen.stopped).to.equal(true);
    expect(work.isAtWork('run_0')).to.equal(false);
    expect(() => work.checkRoom())
      .to.throw()
      .that.includes({ code: 'ending', retryAfter: 5 });
  });
});
