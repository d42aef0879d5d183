import { expect } from 'chai';
import { noUsage } from '#kit/model-answers/usage.ts';
import { type CallResult, possibleTokens, type Settlement, settlementOf } from './settlement.ts';

const call = { model: 'large', upstream: 'first', inputTokens: 1_000, outputTokens: 500 };
const reportedUsage = { input: 10, output: 0, cached: 0, cache_writes: 0 };

function settled(change: Partial<CallResult>): Settlement {
  const result: CallResult = {
    ...{ upstream: 'first', usage: reportedUsage, outcome: 'done', sentBytes: 0, ms: 1, firstTokenMs: null },
    ...change,
  };
  return settlementOf(call, result, () => ({ input: 2, output: 10 }));
}

function outputOf(change: Partial<CallResult>): number {
  return settled(change).usage.output;
}

describe('The settlement of a model call', () => {
  it('takes the higher of the estimate and what was read of a side that no number states, and keeps the mark', () => {
    const usage = { ...reportedUsage, contradictory: true } as const;
    const sent = { sentBytes: 700, contentBytes: 70 };
    const input = { ...usage, inputIsPartial: true, output: 5_000 } as const;
    const marked = { cached: 0, cache_writes: 0, contradictory: true };
    const noEstimate = { ...marked, input: 2_000, output: 5_000 };
    expect(settled({ ...sent, usage: input })).to.deep.equal({
      usage: { ...marked, input: 1_000, output: 5_000 },
      estimated: true,
      cost: 1_000 * 2 + 5_000 * 10,
    });
    expect(settled({ ...sent, usage: { ...input, input: 2_000 } }).usage).to.deep.equal(noEstimate);
    const output = { ...usage, outputIsPartial: true } as const;
    expect(settled({ ...sent, usage: { ...output, output: 3 } })).to.deep.include({
      usage: { ...marked, input: 10, output: 20 },
      estimated: true,
    });
    expect(outputOf({ ...sent, usage: { ...output, output: 3_000 } })).to.equal(3_000);
    expect(outputOf({ sentBytes: 700, usage: { ...output, output: 3 } })).to.equal(200);
  });

  it('counts as output what was sent where nothing was reported, and none where nothing was sent', () => {
    expect(settled({ usage: null })).to.deep.equal({
      usage: { ...reportedUsage, input: 1_000 },
      estimated: true,
      cost: 2_000,
    });
    expect(settled({})).to.deep.equal({ usage: reportedUsage, estimated: false, cost: 20 });
    expect(outputOf({ usage: null, outcome: 'aborted', sentBytes: 70 })).to.equal(20);
    expect(outputOf({ outcome: 'aborted' })).to.equal(0);
    expect(outputOf({ usageIsPartial: true })).to.equal(0);
  });

  it('estimates the input where none was reported, and believes a single token', () => {
    expect(settled({ usage: { ...reportedUsage, input: 0, output: 5 } })).to.deep.include({
      usage: { ...reportedUsage, input: 1_000, output: 5 },
      estimated: true,
    });
    expect(settled({ usage: { ...reportedUsage, input: 1 } }).usage.input).to.equal(1);
  });

  it('estimates the output of a whole answer that was reported as none, by its text or else by its bytes', () => {
    expect(settled({ sentBytes: 700 })).to.deep.include({
      usage: { ...reportedUsage, output: 200 },
      estimated: true,
    });
    expect(outputOf({ sentBytes: 700, contentBytes: 70 })).to.equal(20);
    expect(outputOf({ sentBytes: 700, contentBytes: 0 })).to.equal(0);
    expect(outputOf({ sentBytes: 1 })).to.equal(1);
    expect(outputOf({ usage: { ...reportedUsage, output: 1 }, sentBytes: 700 })).to.equal(1);
  });

  it('counts at least the text of an answer that ended early or went on after its usage, and only known text', () => {
    const early = { usage: { ...reportedUsage, output: 3 }, sentBytes: 700 };
    for (const change of [{ outcome: 'aborted' }, { outcome: 'failed' }, { usageIsPartial: true }] as const) {
      expect(outputOf({ ...early, ...change, contentBytes: 70 })).to.equal(20);
      expect(outputOf({ ...early, ...change })).to.equal(3);
    }
    expect(outputOf({ ...early, usageIsPartial: false, contentBytes: 70 })).to.equal(3);
    expect(outputOf({ outcome: 'aborted', sentBytes: 700 })).to.equal(0);
    expect(outputOf({ ...early, outcome: 'aborted', contentBytes: null })).to.equal(3);
  });

  it('counts an answer that was read to its end as it was reported, and all of one that may have more', () => {
    const left = { outcome: 'aborted', usage: { ...reportedUsage, output: 3 }, contentBytes: 70 } as const;
    expect(outputOf({ ...left, readToEnd: true })).to.equal(3);
    expect(settled({ ...left, mayHaveOutput: true })).to.deep.equal({
      usage: { ...reportedUsage, output: 500 },
      estimated: true,
      cost: 10 * 2 + 500 * 10,
    });
  });

  it('counts a single attempt that was lost, with all that it may have written', () => {
    const lost = [{ upstream: 'second', mayHaveOutput: false }];
    expect(settled({ outcome: 'failed', usage: noUsage, lost })).to.deep.equal({
      usage: { ...reportedUsage, input: 1_000 },
      estimated: true,
      cost: 2_000,
    });
    const written = [{ upstream: 'second', mayHaveOutput: true }];
    expect(settled({ usage: { ...reportedUsage, output: 5 }, lost: written })).to.deep.include({
      usage: { ...reportedUsage, input: 1_010, output: 505 },
      cost: 10 * 2 + 5 * 10 + 1_000 * 2 + 500 * 10,
    });
    expect(settled({ outcome: 'failed', usage: noUsage })).to.deep.equal({
      usage: noUsage,
      estimated: false,
      cost: 0,
    });
  });

  it('counts a part of a token as a whole one', () => {
    expect([0.5, 1.2, 0, -1].map(possibleTokens)).to.deep.equal([1, 2, 0, 0]);
  });
});
