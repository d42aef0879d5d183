import { expect } from 'chai';
import { parseJson } from './decode.ts';
import { repeatedMember } from './repeated-member.ts';

describe('A member that stands twice in its object', () => {
  const cases: readonly [string, string | null][] = [
    ['{"a":1,"b":{"a":2}}', null],
    ['{"a":1,"b":2,"a":3}', '/a'],
    ['{"a":{"b":[0,{"c":1},{"c":1 , "c":2}]}}', '/a/b/2/c'],
    ['{ "a/b" : { "~" : [ ] , "\\u007e" : "}" } }', '/a~1b/~0'],
    ['[[],[{"x":"\\"x\\":1"}]]', null],
    ['"a:b"', null],
    ['{"approval":"rejected","appro\\u0076al":"approved"}', '/approval'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
    ['{"__proto__":{"a":1},"1":1,"01":2}', null],
    ['{"":1,"":2}', '/'],
    ['["a:b",{"\\\\":":"}, {"d\\"e":":,{"}]', null],
  ];
  for (const [json, pointer] of cases) {
    it(`is ${pointer ?? 'nowhere'} in ${json}`, () => {
      expect(repeatedMember(json)).to.equal(pointer);
    });
  }

  it('is refused with its place', () => {
    expect(() => parseJson('{"limit":1,"limit":2}', 'the body'))
      .to.throw('the body: /limit stands twice: must be there once')
      .with.property('code', 'invalid_json');
  });
});
