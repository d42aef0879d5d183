import { expect } from 'chai';
import type { Shown } from '../state/messages.ts';
import { Dwell, dwellMs } from './dwell.ts';

function page(from: number, digest = 'd'): Shown {
  const spans = [[from, from + 1] as const, [from + 1, from + 2] as const];
  return { action_id: 'act', digest, spans, payloadEnd: 9, layout: '80', patchBegin: null };
}

/** Time that passes when it is told to. */
function clocked() {
  const seen: Shown[] = [];
  let due: { work: () => void; at: number } | null = null;
  let now = 0;
  const dwell = new Dwell(
    (shown) => void seen.push(shown),
    (work, ms) => {
      const own = { work, at: now + ms };
      due = own;
      return () => {
        if (due === own) due = null;
      };
    },
  );
  const pass = (ms: number) => {
    now += ms;
    if (due === null || due.at > now) return;
    const { work } = due;
    due = null;
    work();
  };
  return { dwell, seen, pass };
}

describe('A frame', () => {
  it('counts as seen when it has stood for a moment, drawn again or not', () => {
    const { dwell, seen, pass } = clocked();
    dwell.drawn(page(0));
    pass(dwellMs / 2);
    dwell.drawn(page(0));
    expect(seen).to.deep.equal([]);
    pass(dwellMs / 2);
    expect(seen).to.deep.equal([page(0)]);
    dwell.drawn(page(0));
    pass(dwellMs);
    expect(seen).to.have.length(1);
  });

  it('does not count when the next one came before anybody could look', () => {
    const { dwell, seen, pass } = clocked();
    for (let from = 0; from < 7; from++) {
      dwell.drawn(page(from));
      pass(dwellMs - 1);
    }
    dwell.drawn(null);
    pass(dwellMs);
    dwell.drawn(page(0, 'changed'));
    pass(dwellMs);
    expect(seen).to.deep.equal([page(0, 'changed')]);
  });
});
