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
    ['Update deps', ['manifest'], []],
    ['update dev-deps', ['manifest'], []],
    ['Update all dependencies', ['manifest'], []],
    ['chore: update dependencies', ['manifest'], []],
    ['chore: bump x', ['manifest'], []],
    ['chore(deps): bump x from 1 to 2', ['manifest'], []],
    ['Bump left-pad', ['manifest'], []],
    ['bump parser to v7', ['manifest'], []],
    ['Bump x and y in /docs', ['manifest'], []],
    ['Upgrade dependency x', ['manifest'], []],
    ['Remove unused dependencies', ['manifest'], []],
    ['Add y as a dependency', ['manifest'], []],
    ['Pin deps', ['manifest'], []],
    ['chore(release): release 1.2.3', ['manifest'], []],
    ['build: update lockfile', ['manifest'], []],
    ['Lock file maintenance', ['manifest'], []],
    ['Update package-lock', ['manifest'], []],
    ['chore: regenerate the lockfile', ['manifest'], []],
    ['Drop the dependency on x', ['manifest'], []],
    ['fix(deps): follow x', ['manifest'], []],
    ['fix: bump the limit of retries', [], []],
    ['Bump the timeout of requests', [], []],
    ['Bump max size of a body', [], []],
    ['Add dependency injection', [], []],
    ['Update dependency graph on change', [], []],
    ['Update the parser', [], []],
    ['Release the lock of a file', [], []],
    ['Remove the old reader', [], []],
    ['Deprecate the old API', [], []],
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
