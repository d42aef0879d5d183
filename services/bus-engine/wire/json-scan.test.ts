import { expect } from 'chai';
import fc from 'fast-check';
import { shapeOf, stringMembers } from './json-scan.ts';

const boundless = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the shape of JSON', () => {
  it('is recognised by its bytes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const json = Buffer.from(JSON.stringify(value));
        expect(shapeOf(json, boundless).depth).to.equal(depthOf(value));
      }),
    );
  });

  it('does not count what stands in strings', () => {
    for (const text of ['[[[[', '"[[,[[', '\\"[[[[', '\\\\', 'ä[,[[[\\']) {
      const json = Buffer.from(JSON.stringify([text]));
      expect(shapeOf(json, boundless)).to.deep.equal({ depth: 1, values: 2 });
    }
    expect(shapeOf(Buffer.from('["[[[[ without an end'), boundless).depth).to.equal(1);
  });

  it('is not looked at further than a limit', () => {
    const deep = Buffer.from('['.repeat(1_000));
    expect(shapeOf(deep, { ...boundless, depth: 10 }).depth).to.equal(11);
    const wide = Buffer.from(`[${'[],'.repeat(1_000)}[]]`);
    expect(shapeOf(wide, boundless).values).to.equal(2_003);
    expect(shapeOf(wide, { ...boundless, values: 10 }).values).to.equal(11);
  });
});

describe('the string members of a JSON object', () => {
  it('are those that parsing gives', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (object) => {
        const strings = Object.entries(object).filter(([, value]) => typeof value === 'string');
        const found = stringMembers(Buffer.from(JSON.stringify(object)));
        expect(found).to.deep.equal(Object.fromEntries(strings));
      }),
    );
  });

  it('are found in whatever order, behind what is never built', () => {
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    const json = `{"result":${deep},"invocation_id":"i","type":"invocationresult"}`;
    expect(stringMembers(Buffer.from(json))).to.deep.equal({ invocation_id: 'i', type: 'invocationresult' });
  });

  it('are none of what is broken', () => {
    for (const text of ['', '"', '{', '{"a', '{"a":', '{"a":"', '[["a","b"]]', 'nothing'])
      expect(stringMembers(Buffer.from(text))).to.deep.equal({});
  });
});
