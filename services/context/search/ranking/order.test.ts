import { expect } from 'chai';
import { type Group, groupAt } from './groups.ts';
import { isQuestion, isTest, lowerTests } from './order.ts';

describe('A question', () => {
  it('is some words that ask', () => {
    for (const text of ['How do I rotate keys', 'keys rotate how?', ' where are the keys '])
      expect(isQuestion(text), text).to.equal(true);
    for (const text of ['Rotate keys', 'keys?', 'howto rotate keys', `how ${'long '.repeat(100)}?`])
      expect(isQuestion(text), text).to.equal(false);
  });

  it('knows a test by its place or name', () => {
    const tests = [
      'test/e2e/keys.ts',
      'src/__tests__/keys.js',
      'spec/keys.rb',
      'src/keys.test.ts',
      'src/keys.spec.js',
      'pkg/keys_test.go',
      'pkg/test_keys.py',
      'src/KeysTest.java',
      'src/KeysTests.cs',
    ];
    for (const path of tests) expect(isTest(path), path).to.equal(true);
    const others = ['src/latest.ts', 'src/contest/keys.ts', 'docs/testing.md', 'src/test-runner.ts'];
    for (const path of others) expect(isTest(path), path).to.equal(false);
  });

  it('rates tests lower, unless it is about them', () => {
    const paths = ['src/keys.ts', 'test/keys.test.ts', 'docs/keys.md'];
    const scoresFor = (query: string) => {
      const groups = new Map<string, Group>();
      for (const path of paths) {
        const row = { node: 1, id: path, kind: 'file', title: path, repository: 'a/b', path };
        const group = groupAt(groups, path);
        Object.assign(group, { whole: { ...row, start_line: 1, end_line: 9 }, text: 0.5, score: 1 });
      }
      lowerTests(groups.values(), query);
      return [...groups.values()].map(({ score, text }) => [score, text]);
    };
    const same = [1, 0.5];
    expect(scoresFor('How are keys rotated?')).to.deep.equal([same, [0.7, 0.35], same]);
    expect(scoresFor('How are keys tested?')).to.deep.equal([same, same, same]);
    expect(scoresFor('rotate keys')).to.deep.equal([same, same, same]);
  });
});
