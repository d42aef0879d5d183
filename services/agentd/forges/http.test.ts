import { expect } from 'chai';
import { RateLimited, Unavailable } from '#kit/errors.ts';
import { readAgain } from './http.ts';

const limited = (retryAfter?: number) =>
  new RateLimited('forge_rate_limited', 'too many', retryAfter === undefined ? {} : { retryAfter });
const broken = () => new Unavailable('forge_unavailable', '503');
const terms = { name: 'remote', timeout_ms: 60_000, retry_ms: 100 };

/** Fails with these errors in turn, then succeeds. */
async function pausesOf(errors: readonly Error[]) {
  const pauses: number[] = [];
  let [now, asked] = [1_000, 0];
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      pauses.push(ms);
      now += ms;
    },
  };
  const left = [...errors];
  const read = async () => {
    asked += 1;
    const error = left.shift();
    if (error !== undefined) throw error;
    return 'answer';
  };
  const outcome = await readAgain(terms, undefined, read, clock).catch((error) => error as Error);
  return { outcome, pauses, asked };
}

describe('a read that fails for a reason that may pass', () => {
  const cases: readonly [string, readonly Error[], readonly number[]][] = [
    ['waits as long as the forge asks', [limited(1)], [1_000]],
    ['waits again if the forge asks again', [limited(20), limited(30)], [20_000, 30_000]],
    ['waits its own pause if the forge names no time', [limited(), broken()], [100, 400]],
    ['waits four times as long before the second retry', [broken(), broken()], [100, 400]],
  ];
  for (const [what, errors, expected] of cases)
    it(what, async () => {
      const { outcome, pauses, asked } = await pausesOf(errors);
      expect({ outcome, pauses, asked }).to.deep.equal({
        outcome: 'answer',
        pauses: expected,
        asked: errors.length + 1,
      });
    });

  it('is not waited for beyond its deadline, which counts from the first attempt', async () => {
    const [first, second] = [limited(40), limited(20)];
    expect(await pausesOf([first, second])).to.deep.equal({ outcome: second, pauses: [40_000], asked: 2 });
    const late = limited(60);
    expect(await pausesOf([late])).to.deep.equal({ outcome: late, pauses: [], asked: 1 });
  });

  it('is given up after two retries', async () => {
    const last = broken();
    expect(await pausesOf([broken(), broken(), last])).to.deep.equal({
      outcome: last,
      pauses: [100, 400],
      asked: 3,
    });
  });
});
