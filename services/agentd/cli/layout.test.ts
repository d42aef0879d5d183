import { expect } from 'chai';
import { age, duration, until } from '#kit/cli/moments.ts';
import { sampleTerminal } from '../../../test/fixtures/runs/sample-terminal.ts';
import { apart, facts, quoted } from './layout.ts';

describe('layout on a terminal', () => {
  it('keeps two texts apart, and puts them below each other where there is no room', () => {
    expect(apart('ab', 'cd', 8)).to.deep.equal(['ab    cd']);
    expect(apart('abcdef', 'cd', 8)).to.deep.equal(['abcdef', '  cd']);
    expect(apart('abcdef', 'cd', Number.POSITIVE_INFINITY)[0]).to.match(/^abcdef +cd$/);
  });

  it('breaks a line of facts between them, and within one only where it is longer than a line', () => {
    const parts = ['run_0199f3c2', 'awaiting_approval', 'publish waits', 'just now'];
    expect(facts(parts, wide(60))).to.deep.equal([
      'run_0199f3c2 · awaiting_approval · publish waits · just now',
    ]);
    expect(facts(parts, wide(56))).to.deep.equal([
      'run_0199f3c2 · awaiting_approval · publish waits',
      'just now',
    ]);
    expect(facts(['planner patch (in the issue)', '0 memories'], wide(16))).to.deep.equal([
      'planner patch',
      '(in the issue)',
      '0 memories',
    ]);
  });

  it('indents what goes on of an entry of a list, and nothing else', () => {
    const text = '- the output of git diff\n12. the second entry\nno entry, which is longer';
    expect(quoted(text, wide(18))).to.deep.equal([
      '  | - the output',
      '  |   of git diff',
      '  | 12. the second',
      '  |     entry',
      '  | no entry,',
      '  | which is',
      '  | longer',
    ]);
  });

  it('says ages and durations as people do', () => {
    const now = new Date('2026-11-21T10:00:00.000Z');
    expect(age('2026-11-21T09:57:00.000Z', now)).to.equal('3 min ago');
    expect(age('2026-11-20T09:57:00.000Z', now)).to.equal('1 day ago');
    expect(age('2026-01-02T09:57:00.000Z', now)).to.equal('2026-01-02');
    expect(until('2026-11-28T10:00:00.000Z', now)).to.equal('in 7 days');
    expect(until('2026-11-20T10:00:00.000Z', now)).to.equal('now');
    expect([duration(42), duration(1234), duration(130_000)]).to.deep.equal(['42 ms', '1.2 s', '2 min 10 s']);
  });
});

function wide(width: number) {
  return { ...sampleTerminal(), width };
}
