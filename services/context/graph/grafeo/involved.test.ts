import { expect } from 'chai';
import fc from 'fast-check';
import { processorTime } from '../../../../test/fixtures/processor-time.ts';
import { refuseWrites } from '../text/read-only.ts';
import { maxSteps, stepsOf, tokensOf } from '../text/tokens.ts';
import { refuseUnsupported } from './subset.ts';

const longest = 20_000;
const pieces = `( ) [ ] { } a a. = < + - , | : .. ' " \` /* $a 1 1. + _ é ;`
  .split(' ')
  .concat([
    'x IN [',
    'IN ',
    ' AS a ',
    'WITH ',
    'RETURN ',
    'UNWIND ',
    'count(',
    'collect(',
    'reduce(a = ',
    'any(x IN ',
  ])
  .concat([
    '[x IN ',
    '| ',
    ' AND ',
    'CASE WHEN ',
    'MATCH (n)',
    ' null ',
    'WHERE ',
    'CALL ',
    'exists {',
    'toString(',
  ])
  .concat([
    'range(1, ',
    '[1..',
    ' = a.b ',
    '<> [null]',
    'LIMIT ',
    'coalesce(',
    '[a + ',
    '(a = ',
    '{a: ',
    'head(',
    '-[',
  ]);

/** What looking through the text took; it is allowed, or refused for any reason. */
function stepsFor(text: string): number {
  const tokens = tokensOf(text);
  try {
    refuseWrites(text);
    refuseUnsupported({ text, tokens, params: { a: [1] } });
  } catch {}
  return stepsOf(tokens);
}

function filled(piece: string, before = 'RETURN '): string {
  return before + piece.repeat(Math.floor((longest - before.length) / piece.length));
}

describe('queries that are made to be hard to check', () => {
  it('take no more than a bounded number of steps, whatever is repeated in them', () => {
    const piece = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 });
    const before = fc.constantFrom('RETURN ', 'MATCH (a)-[r]->(b) WHERE ', 'WITH [1, 2] AS a UNWIND ');
    fc.assert(
      fc.property(piece, before, (parts, start) => {
        // One look more may pass the bound, and never takes more than the query is long.
        expect(stepsFor(filled(parts.join(''), start))).to.be.at.most(maxSteps + longest);
      }),
      { numRuns: 60 },
    );
  });

  for (const piece of ['1=', '[a + ', 'a = b + ', '(a = ', 'reduce(a = ', 'count(', '1 IN [1] AND ']) {
    it(`are looked at for a moment: ${piece}`, () => {
      const spent = processorTime();
      stepsFor(filled(piece));
      expect(spent()).to.be.below(15_000);
    });
  }

  it('say why they are refused', () => {
    const text = filled('[a+');
    expect(() => refuseUnsupported({ text, tokens: tokensOf(text), params: {} })).to.throw('too involved');
  });

  it('are none that people write, long ones among them', () => {
    const list = `MATCH (n:CoreEntity) WHERE n.id IN [${Array.from({ length: 1_500 }, (_, nth) => `'id:${nth}'`)}] RETURN n.id AS id`;
    const either = `MATCH (n:CoreEntity) WHERE ${Array.from({ length: 500 }, (_, nth) => `n.id = 'id:${nth}'`).join(' OR ')} RETURN n.id AS id`;
    const chain = `WITH 'a' AS x0 ${Array.from({ length: 300 }, (_, nth) => `WITH x${nth} + 'a' AS x${nth + 1}`).join(' ')} RETURN x300 AS x`;
    for (const text of [list, either, chain]) {
      expect(text.length).to.be.below(longest);
      expect(() => refuseUnsupported({ text, tokens: tokensOf(text), params: {} })).to.not.throw();
    }
  });
});
