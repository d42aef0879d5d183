import { expect } from 'chai';
import fc from 'fast-check';
import { processorTime } from '../../../../test/fixtures/processor-time.ts';
import { refuseWrites } from '../text/read-only.ts';
import { tokensOf } from '../text/tokens.ts';
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

/** Processor time, in milliseconds, for looking through the text, which is allowed or refused for any reason. */
function timeFor(text: string): number {
  const spent = processorTime();
  const tokens = tokensOf(text);
  try {
    refuseWrites(text);
    refuseUnsupported({ text, tokens, params: { a: [1] } });
  } catch {}
  return spent();
}

function filled(piece: string, before = 'RETURN '): string {
  return before + piece.repeat(Math.floor((longest - before.length) / piece.length));
}

describe('queries that are made to be hard to check', () => {
  it('are looked at for a moment, whatever is repeated in them', () => {
    const piece = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 });
    const before = fc.constantFrom('RETURN ', 'MATCH (a)-[r]->(b) WHERE ', 'WITH [1, 2] AS a UNWIND ');
    fc.assert(
      fc.property(piece, before, (parts, start) => {
        expect(timeFor(filled(parts.join(''), start))).to.be.below(3_000);
      }),
      { numRuns: 60 },
    );
  });

  for (const piece of [
    '1=',
    '[a + ',
    'a = b + ',
    '(a = ',
    'reduce(a = ',
    'count(',
    '1 IN [1] AND ',
    '1 AS a, a = ',
  ]) {
    it(`are looked at for a moment: ${piece}`, () => {
      expect(timeFor(filled(piece))).to.be.below(3_000);
    });
  }

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
