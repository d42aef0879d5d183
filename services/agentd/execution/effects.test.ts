import { expect } from 'chai';
import { Conflict, Refused } from '#kit/errors.ts';
import { PermitEnded } from '#kit/permit.ts';
import { failure } from '../../../test/fixtures/failure.ts';
import { Effects } from './effects.ts';

const lost = new AbortController().signal;
const minute = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** A lease whose permits end so often before they are required, and that is lost then where it says so. */
function leaseThatEnds(times: number, { losing = false, shared = true } = {}) {
  let asked = 0;
  const permit = async () => {
    const turn = asked++;
    if (losing && turn === times) throw new Conflict('lease_lost', 'it was lost');
    return {
      require() {
        if (turn < times) throw new PermitEnded('run x');
      },
    };
  };
  return { lease: { lost, shared, permit }, asked: () => asked };
}

describe('the effects of a run', () => {
  it('leave once the lease is surely held, however often this process was stopped before', async () => {
    const { lease, asked } = leaseThatEnds(3);
    const left: string[] = [];
    const answer = await new Effects(lease, ago(0)).run('comment', async (permit) => {
      permit.require();
      left.push('a comment');
      return 7;
    });
    expect([answer, left, asked()]).to.deep.equal([7, ['a comment'], 4]);
  });

  it('do not leave when another process has the lease', async () => {
    const { lease, asked } = leaseThatEnds(2, { losing: true });
    const left: string[] = [];
    const error = await failure(
      new Effects(lease, ago(0)).run('push', async (permit) => {
        permit.require();
        left.push('a push');
      }),
    );
    expect(error).to.include({ code: 'lease_lost', message: 'it was lost' });
    expect([left, asked()]).to.deep.equal([[], 3]);
  });

  it('are not repeated after anything else', async () => {
    const { lease, asked } = leaseThatEnds(0);
    const effect = async () => {
      throw new Refused('forge_refused', 'no');
    };
    expect(await failure(new Effects(lease, ago(0)).run('comment', effect))).to.include({
      code: 'forge_refused',
    });
    expect(asked()).to.equal(1);
  });

  it('are over since the last event of the run, as far as clocks of hosts can say', async () => {
    const quiet = (last: string, shared: boolean) =>
      new Effects(leaseThatEnds(0, { shared }).lease, last).quietMs();
    expect(quiet(ago(10 * minute), false)).to.be.within(10 * minute - 50, 11 * minute);
    expect(quiet(ago(10 * minute), true)).to.be.within(5 * minute - 50, 6 * minute);
    for (const [last, shared] of [
      [ago(4 * minute), true],
      [ago(-10 * minute), true],
      [ago(-10 * minute), false],
    ] as const)
      expect(quiet(last, shared), `${last} ${shared}`).to.be.within(0, minute);
  });

  it('are over since the last one of this process', async () => {
    const effects = new Effects(leaseThatEnds(0).lease, ago(60 * minute));
    expect(effects.quietMs()).to.be.above(50 * minute);
    await effects.run('comment', async (permit) => permit.require());
    expect(effects.quietMs()).to.be.within(0, minute);
  });
});
