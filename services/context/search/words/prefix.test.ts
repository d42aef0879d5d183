import { expect } from 'chai';
import { nameWords, prefixOf } from './prefix.ts';

describe('What stands before the colon of a query', () => {
  for (const [query, sorts, place] of [
    ['docs: explain the limit', ['document'], []],
    ['test: plugin 1', ['test'], []],
    ['fix(binding): read an empty body', [], ['bind']],
    ['docs(middleware): name the header', ['document'], ['middlewar']],
    ['ignore/types: add Kconfig', [], ['ignor', 'type']],
    ['feat!: drop what is old', [], []],
    ['[docs] a word', ['document'], []],
    ['build(deps): follow the parser', ['manifest'], []],
    ['ci: run on two systems', ['ci'], []],
    ['Bumped v9.2.1', ['manifest'], []],
    ['TypeError: cannot read', [], []],
    ['Why does it fail: nobody knows', [], []],
    ['https://example.org/docs', [], []],
    ['docs:', [], []],
  ] as const) {
    it(`of ${JSON.stringify(query)}`, () => {
      expect(prefixOf(query)).to.deep.equal({ sorts, place });
    });
  }
});

describe('The words of a name', () => {
  it('have numbers of one digit among them', () => {
    expect(nameWords('test/plugin.1.test.js')).to.deep.equal(['test', 'plugin', '1', 'test', 'js']);
  });
});
