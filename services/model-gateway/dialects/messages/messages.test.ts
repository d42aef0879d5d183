import { expect } from 'chai';
import type { Usage } from '#kit/model-answers/usage.ts';
import { messages } from './messages.ts';

function usageAfter(...events: object[]): Usage | null {
  const { events: wire } = messages.wire;
  return events.reduce<Usage | null>((before, event) => wire.usage(event as never, before) ?? before, null);
}

const start = (usage: object) => ({ type: 'message_start', message: { usage } });
const delta = (usage: object) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });

describe('The usage of a stream of Messages', () => {
  it('is that of its beginning with what its end adds', () => {
    const begun = start({
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 5,
      output_tokens: 1,
    });
    expect(usageAfter(begun, delta({ output_tokens: 30 }))).to.deep.equal({
      input: 115,
      output: 30,
      cached: 100,
      cache_writes: 5,
    });
    expect(usageAfter(begun, delta({ input_tokens: 40, output_tokens: 30 }))!.input).to.equal(145);
  });

  it('keeps what a later event writes as 0 or leaves out, and takes what an earlier one did', () => {
    const whole = { input_tokens: 10, cache_read_input_tokens: 20, output_tokens: 1 };
    const zeros = { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 9 };
    expect(usageAfter(start(whole), delta(zeros))).to.include({ input: 30, output: 9, cached: 20 });
    expect(usageAfter(start(zeros), delta({ ...whole, output_tokens: 12 }))).to.include({
      input: 30,
      output: 12,
    });
  });

  it('is none where no event counts', () => {
    expect(usageAfter(start({}), delta({}), { type: 'ping' })).to.equal(null);
  });

  it('has nothing but marks where each event counts with impossible numbers, so that the ledger shows them', () => {
    const marked = {
      ...{ input: 0, output: 0, cached: 0, cache_writes: 0 },
      ...{ contradictory: true, inputIsPartial: true, outputIsPartial: true },
    };
    expect(usageAfter(start({}), delta({ output_tokens: 'nine' }))).to.deep.equal(marked);
    expect(usageAfter(start({ input_tokens: -1, output_tokens: 1e300 }))).to.deep.equal(marked);
  });
});
