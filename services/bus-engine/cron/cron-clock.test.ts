import { join } from 'node:path';
import { expect } from 'chai';
import type { Logger } from '#kit/log.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { TriggerRefused } from '../triggers/trigger.ts';
import { type Binding, BindingStore } from './binding-store.ts';
import { CronClock } from './cron-clock.ts';

const logger: Logger = { error() {}, warn() {}, info() {}, debug() {}, child: () => logger };
const minute = 60_000;
const noon = Date.parse('2026-03-01T12:00:00.000Z');

describe('the clock of cron bindings', () => {
  let store: BindingStore;
  let path: string;
  let wall: number;
  let monotonic: number;
  let functions: Set<string>;
  let fired: string[];
  let clock: CronClock;

  beforeEach(() => {
    path = join(temporaryFolder(), 'triggers.sqlite');
    store = new BindingStore(path);
    [wall, monotonic] = [noon, 1_000];
    functions = new Set(['f']);
    fired = [];
    clock = newClock();
  });
  afterEach(() => store.close());

  function newClock(): CronClock {
    return new CronClock({
      store,
      clock: { wall: () => wall, monotonic: () => monotonic },
      hasFunction: (id) => functions.has(id),
      fire: ({ binding, scheduled, actual }) =>
        fired.push(`${binding.id} ${timeOf(scheduled)} at ${timeOf(actual)}`),
      logger,
    });
  }

  function binding(change: Partial<Binding> = {}): Omit<Binding, 'due'> {
    const config = { expression: '0 * * * * *' };
    return {
      id: 'a',
      type: 'cron',
      functionId: 'f',
      config,
      metadata: null,
      token: 't',
      durable: false,
      ...change,
    };
  }

  function pass(ms: number): void {
    wall += ms;
    monotonic += ms;
    clock.wake();
  }

  /** The process is killed, and another one starts with what is on disk. */
  function restart(after = 0): void {
    store.close();
    wall += after;
    monotonic += after;
    store = new BindingStore(path);
    clock = newClock();
    for (const one of store.all()) clock.restore(one);
    clock.wake();
  }

  it('makes each tick once', () => {
    clock.add(binding());
    pass(30_000);
    expect(fired).to.deep.equal([]);
    pass(30_000);
    pass(1);
    pass(minute);
    expect(fired).to.deep.equal(['a 12:01:00 at 12:01:00', 'a 12:02:00 at 12:02:00']);
  });

  it('makes a tick that fell into a restart once, however many they were', () => {
    clock.add(binding({ durable: true }));
    restart(10 * minute + 5_000);
    expect(fired).to.deep.equal(['a 12:01:00 at 12:10:05']);
    pass(55_000);
    expect(fired).to.have.length(2);
    restart();
    expect(fired).to.have.length(2);
  });

  it('makes a tick when somebody with the function comes', () => {
    functions.clear();
    clock.add(binding());
    pass(5 * minute);
    expect(fired).to.deep.equal([]);
    functions.add('f');
    pass(1_000);
    pass(1_000);
    expect(fired).to.deep.equal(['a 12:01:00 at 12:05:01']);
  });

  it('keeps what was due when a worker comes back with the same, also under another id', () => {
    clock.add(binding());
    clock.left('a');
    pass(3 * minute);
    expect(fired).to.deep.equal([]);
    clock.add(binding({ id: 'b' }));
    pass(0);
    pass(minute);
    expect(fired).to.deep.equal(['b 12:01:00 at 12:03:00', 'b 12:04:00 at 12:04:00']);
    expect(store.all().map(({ id }) => id)).to.deep.equal(['b']);
  });

  it('goes on after a restart before the worker is back, and does not tick twice when it is', () => {
    clock.add(binding());
    restart();
    pass(minute);
    clock.add(binding({ id: 'again' }));
    pass(minute);
    expect(fired).to.deep.equal(['a 12:01:00 at 12:01:00', 'again 12:02:00 at 12:02:00']);
  });

  it('does not go on with what a worker did not register again', () => {
    clock.add(binding());
    clock.add(binding({ id: 'other', token: 'u', functionId: 'g' }));
    functions.add('g');
    restart();
    clock.add(binding({ id: 'new', config: { expression: '30 * * * * *' } }));
    pass(minute);
    expect(fired).to.deep.equal(['other 12:01:00 at 12:01:00', 'new 12:00:30 at 12:01:00']);
    pass(15 * minute);
    pass(0);
    expect(store.all().map(({ id }) => id)).to.deep.equal(['new']);
  });

  it('stops at once when it is asked to', () => {
    clock.add(binding());
    clock.remove('a');
    pass(minute);
    expect(fired).to.deep.equal([]);
    expect(store.all()).to.deep.equal([]);
  });

  it('makes one tick when the clock jumps forward, and goes on from there', () => {
    clock.add(binding());
    wall += 24 * 60 * minute;
    clock.wake();
    clock.wake();
    expect(fired).to.deep.equal(['a 12:01:00 at 12:00:00']);
    pass(minute);
    expect(fired).to.have.length(2);
  });

  it('goes on when the clock is set back, and repeats nothing for less than a minute', () => {
    clock.add(binding());
    pass(minute);
    wall -= 5_000;
    clock.wake();
    pass(5_000);
    expect(fired).to.have.length(1);
    wall -= 6 * 60 * minute;
    clock.wake();
    pass(minute);
    expect(fired).to.have.length(2);
    expect(fired[1]).to.include('06:02:00');
  });

  it('follows a clock that was set back while the engine was not running', () => {
    clock.add(binding({ durable: true }));
    restart(-24 * 60 * minute);
    pass(minute);
    expect(fired).to.deep.equal(['a 12:01:00 at 12:01:00']);
  });

  it('evaluates a time zone where one is named', () => {
    const config = { expression: '0 0 14 * * *', timezone: 'Europe/Zurich' };
    clock.add(binding({ config }));
    pass(60 * minute);
    expect(fired).to.deep.equal(['a 13:00:00 at 13:00:00']);
  });

  it('keeps so many bytes of one token, and ends those that rest before it takes no more', () => {
    store.close();
    store = new BindingStore(':memory:');
    clock = newClock();
    const large = (id: string, token = 't') =>
      clock.add(binding({ id, functionId: id, token, metadata: 'x'.repeat(60_000) }));
    const idsOnDisk = () => [...store.all()].map(({ id }) => id);
    for (let nth = 0; nth < 270; nth++) large(`b${nth}`);
    const tooMany = () => {
      for (let nth = 0; nth < 10; nth++) large(`more${nth}`);
    };
    expect(tooMany).to.throw(TriggerRefused, 'of the token t must have at most 16777216 bytes together');
    const kept = idsOnDisk().length;
    large('of another', 'u');
    clock.left('b7');
    large('again');
    expect(idsOnDisk()).to.include('again').and.to.include('of another').and.to.not.include('b7');
    expect(idsOnDisk()).to.have.length(kept + 1);
  });

  it('takes no expression that it does not understand', () => {
    const wrongs: [unknown, RegExp][] = [
      [{}, /expression is required for cron triggers: six fields/],
      [{ expression: '* * * * *' }, /cron expression "\* \* \* \* \*"/],
      [{ expression: '61 * * * * *' }, /cron expression "61/],
      [{ expression: '0 0 0 31 2 *' }, /there is no such time/],
      [{ expression: '* * * * * *', timezone: 'Mars/Base' }, /in the time zone "Mars\/Base"/],
      [{ expression: '* * * * * *', timezone: 5 }, /timezone must be the name/],
    ];
    for (const [config, message] of wrongs) expect(() => clock.add(binding({ config }))).to.throw(message);
    expect(store.all()).to.deep.equal([]);
  });
});

function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}
