import { expect } from 'chai';
import * as t from 'io-ts';
import { LookupRequest } from './contracts/context/memory.ts';
import { RefreshRequest } from './contracts/context/refresh.ts';
import { decode, nullable, optional, Timestamp } from './decode.ts';
import { InvalidInput } from './errors.ts';

describe('What decoding says of a broken rule', () => {
  function messageOf(codec: t.Decoder<unknown, unknown>, value: unknown): string {
    try {
      decode(codec, value, 'the body');
    } catch (error) {
      if (error instanceof InvalidInput) return error.message;
      throw error;
    }
    return 'nothing';
  }

  const cases: readonly (readonly [string, t.Decoder<unknown, unknown>, unknown, string])[] = [
    ['a list', RefreshRequest, { repositories: 'koa' }, '/repositories is "koa": must be a list'],
    [
      'a bounded list',
      LookupRequest,
      { query: 'x', about: 'a' },
      '/about is "a": must be a list of at most 100',
    ],
    [
      'one word of several that may be null',
      LookupRequest,
      { query: 'x', layer: 'fancy' },
      '/layer is "fancy": must be one of semantic, episodic, procedural; left out or empty for all',
    ],
    ['a number that may be null', nullable(t.number), 'x', '/ is "x": must be a number'],
    [
      'an object',
      t.strict({ a: optional(t.strict({ b: t.string })) }),
      { a: 1 },
      '/a is 1: must be an object',
    ],
    ['null alone', t.strict({ a: t.null }), { a: 1 }, '/a is 1: must be null'],
  ];
  for (const [what, codec, value, message] of cases) {
    it(`names the rule of ${what}, and no more`, () => {
      expect(messageOf(codec, value)).to.equal(`the body: ${message}`);
    });
  }

  it('names the part that is wrong where a shape of several was meant', () => {
    const message = messageOf(RefreshRequest, { repositories: [{ name: 'a b', path: '/x' }] });
    expect(message).to.match(/^the body: \/repositories\/0\/name is "a b": must be a repository's name: /);
    expect(message).to.not.contain('more)');
  });
});

describe('A time from outside', () => {
  it('is taken with Z or an offset', () => {
    for (const text of [
      '2026-11-21T08:50:00Z',
      '2026-11-21T08:50Z',
      '2026-11-21T08:50:00.123Z',
      '2026-11-21T09:50:00+01:00',
      '2026-11-21t03:50:00-05:00',
    ])
      expect(Timestamp.is(text), text).to.equal(true);
  });

  it('is refused without one, since it would mean another moment elsewhere, and the message shows an example', () => {
    for (const text of [
      '2026-11-21T08:50:00',
      '2026-11-21T08:50',
      '2026-11-21T08:50:00.000',
      '2026-11-21',
      '2026-11-21 08:50:00Z',
      '2026-11-21T08:50:00 CET',
      '2026-11-21T08:50:00+0100',
      '2026-13-21T08:50:00Z',
      'Sat, 21 Nov 2026 08:50:00 GMT',
      '2026-11-21T08:50:00Z or so',
    ])
      expect(() => decode(Timestamp, text, 'since'), text).to.throw(
        /Z or an offset, for example 2026-11-21T08:50:00Z/,
      );
  });
});
