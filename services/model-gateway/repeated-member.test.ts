import { expect } from 'chai';
import { repeatedMember } from './repeated-member.ts';

describe('A member that stands twice in its object', () => {
  const cases: readonly [string, string | null][] = [
    ['{"a":1,"b":{"a":2}}', null],
    ['{"a":1,"b":2,"a":3}', '/a'],
    ['{"a":{"b":[0,{"c":1},{"c":1 , "c":2}]}}', '/a/b/2/c'],
    ['{ "a/b" : { "~" : [ ] , "\\u007e" : "}" } }', '/a~1b/~0'],
    ['[[],[{"x":"\\"x\\":1"}]]', null],
    ['"a"', null],
  ];
  for (const [json, pointer] of cases) {
    it(`is ${pointer ?? 'nowhere'} in ${json}`, () => {
      expect(repeatedMember(Buffer.from(json))).to.equal(pointer);
    });
  }
});
