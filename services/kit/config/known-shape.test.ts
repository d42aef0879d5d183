import { expect } from 'chai';
import fc from 'fast-check';
import * as t from 'io-ts';
import { RecordRequest } from '../contracts/context/memory.ts';
import { integerBetween, matches, nullable, oneOf, optional } from '../decode.ts';
import { hasKnownShape } from './known-shape.ts';
import { unknownKeys } from './unknown-keys.ts';

const Thing = t.strict({
  size: integerBetween(0, 5),
  kind: oneOf(['a', 'b']),
  note: optional(nullable(t.string)),
  parts: t.array(t.strict({ name: t.string, on: optional(t.boolean) })),
});

/** Values out of JSON that are often nearly right. */
const member = fc.oneof(
  fc.integer({ min: -1, max: 6 }),
  fc.constantFrom('a', 'b', 'c', null, true, 1.5),
  fc.array(fc.record({ name: fc.string(), on: fc.boolean(), more: fc.nat(1) }, { requiredKeys: [] })),
);
const value = fc.oneof(
  fc.record(
    { size: member, kind: member, note: member, parts: member, __proto__: member, other: member },
    { requiredKeys: [] },
  ),
  fc.record({
    size: fc.integer({ min: 0, max: 6 }),
    kind: fc.constantFrom('a', 'b'),
    parts: fc.array(fc.record({ name: fc.string(), on: fc.boolean() }, { requiredKeys: ['name'] })),
  }),
  fc.jsonValue(),
);

describe('A known shape', () => {
  it('is what decodes and has no unknown member, and nothing else', () => {
    let known = 0;
    fc.assert(
      fc.property(value, (made) => {
        const given: unknown = JSON.parse(JSON.stringify(made));
        const accepted = matches(Thing, given) && unknownKeys(Thing, given).length === 0;
        expect(hasKnownShape(Thing, given)).to.equal(accepted);
        if (accepted) known++;
      }),
      { numRuns: 1_000 },
    );
    expect(known).to.be.above(0);
  });

  it('is that of a memory to record, which thus is not decoded at length', () => {
    const request = { layer: 'semantic', content: 'Something.', about: ['service:a'], valid_from: null };
    expect(hasKnownShape(RecordRequest, request)).to.equal(true);
    expect(hasKnownShape(RecordRequest, { ...request, layer: 'none' })).to.equal(false);
    expect(hasKnownShape(RecordRequest, { ...request, subjects: 'x' })).to.equal(false);
    expect(hasKnownShape(RecordRequest, { layer: 'semantic' })).to.equal(false);
    expect(
      hasKnownShape(RecordRequest, JSON.parse('{"layer":"semantic","content":"x","__proto__":1}')),
    ).to.equal(false);
  });

  it('is left to the decoder where the codec is of another kind', () => {
    const both = t.intersection([t.strict({ a: t.string }), t.strict({ b: t.string })]);
    expect(hasKnownShape(both, { a: 'x', b: 'y' })).to.equal(false);
    expect(hasKnownShape(t.UnknownRecord, {})).to.equal(false);
  });
});
