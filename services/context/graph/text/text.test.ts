import { expect } from 'chai';
import fc from 'fast-check';
import { processorTime } from '../../../../test/fixtures/processor-time.ts';
import { withLimit } from '../grafeo/prepared.ts';
import { placeOf } from '../refusals.ts';
import { refuseWrites } from './read-only.ts';
import { tokensOf } from './tokens.ts';

describe("a query's text", () => {
  it('is cut without losing or inventing a character, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (query) => {
        let end = 0;
        for (const token of tokensOf(query)) {
          expect(token.offset).to.be.at.least(end);
          expect(token.end).to.be.above(token.offset);
          end = token.end;
        }
        expect(end).to.be.at.most(query.length);
      }),
    );
  });

  it('keeps strings, names in backticks and comments apart from syntax', () => {
    const kinds = tokensOf("MATCH (`a``b` /* x */) // y\nRETURN 'it\\'s', \"q\", $p, 1.5").map(
      ({ kind, text }) => `${kind} ${text}`,
    );
    expect(kinds).to.deep.equal([
      'word MATCH',
      'sign (',
      'name a``b',
      'sign )',
      'word RETURN',
      "string 'it\\'s'",
      'sign ,',
      'string "q"',
      'sign ,',
      'parameter $p',
      'sign ,',
      'number 1.5',
    ]);
  });

  it('takes a range for two numbers', () => {
    expect(tokensOf('[*1..3]').map(({ text }) => text)).to.deep.equal(['[', '*', '1', '..', '3', ']']);
  });

  it('knows which brackets belong together', () => {
    const tokens = tokensOf('([{x}])');
    expect(tokens.map(({ pair }) => pair)).to.deep.equal([6, 5, 4, null, 2, 1, 0]);
    expect(tokens.map(({ within }) => within)).to.deep.equal([null, 0, 1, 2, 1, 0, null]);
  });

  it('has places that count from 1', () => {
    expect(placeOf('a\r\nbc\nd', 4)).to.deep.equal({ line: 2, column: 2 });
  });

  it('is read in a time that its length allows', () => {
    const spent = processorTime();
    for (const piece of ['(', ')', ';', '=[', 'a.', 'count(', 'RETURN ', 'EXISTS{', '{a:', "'", '`', '/*'])
      refuseQuietly(piece.repeat(20_000 / piece.length));
    expect(spent()).to.be.below(15_000);
  });

  for (const [query, limited] of [
    ['RETURN 1', 'RETURN 1\nLIMIT 5'],
    ['RETURN 1; ', 'RETURN 1\nLIMIT 5; '.slice(0, -2)],
    ['RETURN 1 // LIMIT 2', 'RETURN 1\nLIMIT 5'],
    ['RETURN 1 LIMIT 2', null],
    ['RETURN n.limit AS limit', 'RETURN n.limit AS limit\nLIMIT 5'],
    ['RETURN 1 UNION RETURN 2', null],
    ['CALL { RETURN 1 AS x LIMIT 1 } RETURN x', 'CALL { RETURN 1 AS x LIMIT 1 } RETURN x\nLIMIT 5'],
    ['CALL db.labels()', null],
  ] as const) {
    it(`gets a limit where it has none: ${query}`, () => {
      expect(withLimit(query, tokensOf(query), 5)).to.equal(limited ?? query);
    });
  }

  for (const query of [
    'MATCH (set) WHERE set.create = 1 RETURN set.delete AS merge',
    'RETURN {set: 1}',
    'MATCH (n:Set)-[:REMOVE]->(m) RETURN n',
    "RETURN 'LOAD CSV' AS x // DROP",
    'CALL `db`.`labels`() YIELD label RETURN label',
    'RETURN date.truncate("day", $x) AS x',
  ]) {
    it(`is not taken for a write: ${query}`, () => {
      expect(() => refuseWrites(query)).not.to.throw();
    });
  }
});

function refuseQuietly(query: string): void {
  try {
    refuseWrites(query);
  } catch {}
}
