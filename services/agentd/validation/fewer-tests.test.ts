import { expect } from 'chai';
import type { FileChange } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import { untestedTexts } from './coverage.ts';
import { fewerTests } from './fewer-tests.ts';

type Tree = Readonly<Record<string, string>>;

const treeOf = (files: Tree): TreeReader => ({
  list: async () => Object.keys(files),
  read: async (path) => (path in files ? Buffer.from(files[path]!) : null),
});

function changeOf(path: string, status: FileChange['status'], old_path: string | null = null): FileChange {
  return { path, old_path, status, added: null, removed: null, old_mode: null, new_mode: null };
}

const manifest = (test: string, more = {}) => JSON.stringify({ scripts: { test, ...more } });
const long = 'a\nb\n\nc\n';

const cases: Readonly<
  Record<string, readonly [before: Tree, after: Tree, change: FileChange, text: string]>
> = {
  'a deleted test file': [
    { 'a/a.test.js': long },
    {},
    changeOf('a/a.test.js', 'deleted'),
    'fewer tests: a/a.test.js (the change deletes this test file)',
  ],
  'an emptied test file': [
    { 'tests/test_a.py': long },
    { 'tests/test_a.py': 'a\n' },
    changeOf('tests/test_a.py', 'modified'),
    'fewer tests: tests/test_a.py (the change leaves 1 of 3 lines of this test file)',
  ],
  'a test file whose new name is none of tests': [
    { 'a_test.go': long },
    { 'a.go': long },
    changeOf('a.go', 'renamed', 'a_test.go'),
    'fewer tests: a_test.go (the change renames this test file to a.go)',
  ],
  'a test script that does nothing any more': [
    { 'b/package.json': manifest('node check.js') },
    { 'b/package.json': manifest('exit 0') },
    changeOf('b/package.json', 'modified'),
    'fewer tests: b/package.json (after the change its test script does nothing)',
  ],
  'a script that the test script calls and that only lints now': [
    { 'package.json': manifest('npm run unit', { unit: 'jest' }) },
    { 'package.json': manifest('npm run unit', { unit: 'eslint .' }) },
    changeOf('package.json', 'modified'),
    'fewer tests: package.json (after the change its test script only lints)',
  ],
  'a test script that is gone': [
    { 'package.json': manifest('jest') },
    { 'package.json': '{}' },
    changeOf('package.json', 'modified'),
    'fewer tests: package.json (the change takes its test script away)',
  ],
  'an emptied file that the test script runs': [
    { 'b/package.json': manifest('npm run unit', { unit: 'node ./check.js' }), 'b/check.js': long },
    { 'b/package.json': manifest('npm run unit', { unit: 'node ./check.js' }), 'b/check.js': 'c\n' },
    changeOf('b/check.js', 'modified'),
    'fewer tests: b/check.js (the change leaves 1 of 3 lines of this file, which the test script of b/package.json runs)',
  ],
  'another shell for scripts': [
    {},
    { '.npmrc': 'script-shell=/bin/true\n' },
    changeOf('.npmrc', 'added'),
    'fewer tests: .npmrc (the change sets script-shell=/bin/true, which decides how test scripts run)',
  ],
};

describe('A change that takes tests away', () => {
  for (const [title, [before, after, change, text]] of Object.entries(cases)) {
    it(`is named: ${title}`, async () => {
      const found = await fewerTests([change], treeOf(before), treeOf(after));
      expect(untestedTexts(found)).to.deep.equal([text]);
    });
  }

  it('is none for other changes', async () => {
    const before = {
      'a.test.js': long,
      'src/a.js': long,
      'package.json': manifest('jest'),
      'b.test.js': long,
    };
    const after = { 'a.test.js': `${long}d\n`, 'package.json': manifest('vitest run'), 'c.test.js': long };
    const changes = [
      changeOf('a.test.js', 'modified'),
      changeOf('src/a.js', 'deleted'),
      changeOf('package.json', 'modified'),
      changeOf('c.test.js', 'renamed', 'b.test.js'),
      changeOf('.npmrc', 'added'),
    ];
    expect(await fewerTests(changes, treeOf(before), treeOf(after))).to.deep.equal([]);
  });
});
