import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { treeOf } from '#kit/git/tree.ts';
import {
  type FileContent,
  makeRepository,
  type TestRepository,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { exportTree } from '../git/export-tree.ts';
import { checkoutFacts, differencesFromCheckout } from './checkout-differences.ts';

const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12\n`;
const text = 'one\ntwo $Id$\n';
const commands = {
  prepare: [],
  commands: [{ name: 'test', run: 'npm test' }],
  submodules: undefined,
  lfs: undefined,
};

async function differencesIn({ gitDir }: TestRepository, plan = commands): Promise<string[]> {
  const lines = differencesFromCheckout(await checkoutFacts(gitDir, 'HEAD', plan));
  return lines.map((line) => line.replace(/^not as in a checkout: /, ''));
}

describe('The differences between the files of a validation and a checkout', () => {
  const crlf = (name: string) => `${name} has its recorded line endings, and CRLF in a checkout (eol=crlf)`;
  const table: Readonly<Record<string, readonly [attributes: string, lines: string[], nested?: string]>> = {
    'no attributes': ['', []],
    'text alone': ['* text=auto\n', []],
    'LF line endings': ['*.txt text eol=lf\n', []],
    'CRLF line endings': ['a.txt text eol=crlf\n', [crlf('a.txt')]],
    'CRLF line endings without text': ['a.txt eol=crlf\n', [crlf('a.txt')]],
    'CRLF line endings of what git takes for text': ['a.txt text=auto eol=crlf\n', [crlf('a.txt')]],
    'CRLF line endings of a file that is not text': ['a.txt -text eol=crlf\n', []],
    'CRLF line endings of a binary file': ['a.txt eol=crlf\na.txt binary\n', []],
    'CRLF line endings by an old attribute': ['a.txt -crlf eol=crlf\n', []],
    'CRLF line endings by a macro': ['[attr]dos text eol=crlf\na.txt dos\n', [crlf('a.txt')]],
    'CRLF line endings in a folder': ['', [crlf('sub/b.txt')], '*.txt text eol=crlf\n'],
    'CRLF line endings that a folder takes back': ['*.txt eol=crlf\n', [crlf('a.txt')], '*.txt -text\n'],
    'a comment': ['# a.txt eol=crlf\n', []],
    'an encoding': [
      'a.txt text working-tree-encoding=UTF-16LE\n',
      ['a.txt has its recorded UTF-8, and UTF-16LE in a checkout (working-tree-encoding)'],
    ],
    'an encoding that is the recorded one': ['a.txt text working-tree-encoding=utf8\n', []],
    'an identifier': ['a.txt ident\n', ['a.txt has $Id$ as recorded, and expanded in a checkout (ident)']],
    'several files': [
      '*.txt ident\n',
      ['a.txt, sub/b.txt have $Id$ as recorded, and expanded in a checkout (ident)'],
    ],
    'no identifier': ['a.txt -ident\n', []],
    'rules for archives': ['a.txt export-ignore export-subst\n', []],
  };
  for (const [name, [attributes, lines, nested]] of Object.entries(table)) {
    it(`are those that git makes: ${name}`, async () => {
      const repository = makeRepository({
        'a.txt': attributes.includes('UTF-16LE') ? Buffer.from(text, 'utf16le') : text,
        'sub/b.txt': text,
        ...(attributes !== '' && { '.gitattributes': attributes }),
        ...(nested !== undefined && { 'sub/.gitattributes': nested }),
      });
      expect(await differencesIn(repository)).to.deep.equal(lines);
      const differing = await filesThatDiffer(repository, ['a.txt', 'sub/b.txt']);
      expect(lines.join('\n').match(/(?:sub\/b|\ba)\.txt/g) ?? []).to.deep.equal(differing);
    });
  }

  it('name filters, which are not run', async () => {
    const repository = makeRepository({ '.gitattributes': '*.enc filter=crypt\n', 'a.enc': text });
    expect(await differencesIn(repository)).to.deep.equal([
      "a.enc is as recorded: the filter 'crypt' is not run",
    ]);
  });

  it('name pointers of Git LFS, but neither files recorded whole nor pointers without the filter', async () => {
    const repository = makeRepository({
      '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
      'a.bin': pointer,
      'whole.bin': 'x'.repeat(2000),
      'a.txt': pointer,
    });
    expect(await differencesIn(repository)).to.deep.equal(['a.bin is a pointer of Git LFS, not the file']);
  });

  it('name three files of many', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}.bin`);
    const files: Record<string, FileContent> = { '.gitattributes': '*.bin filter=lfs\n' };
    for (const name of names) files[name] = pointer;
    expect(await differencesIn(makeRepository(files))).to.deep.equal([
      'a.bin, b.bin, c.bin and 2 more are pointers of Git LFS, not the files',
    ]);
  });

  it('name submodules', async () => {
    const repository = makeRepository({ 'a.txt': text });
    const commit = repository.git('rev-parse', 'HEAD');
    repository.git('update-index', '--add', '--cacheinfo', `160000,${commit},vendor/ü lib`);
    repository.git('commit', '-q', '-m', 'Submodule');
    expect(await differencesIn(repository)).to.deep.equal(['vendor/ü lib is an empty folder: a submodule']);
  });

  const users: Readonly<
    Record<string, readonly [files: Record<string, string>, run: string, user: string | null]>
  > = {
    'no command': [{}, 'npm test', null],
    'a command': [{}, 'v=$(git describe) make test', "'git describe' in the command 'test'"],
    'a word that only contains git': [{}, 'npm run legit git-cliff', null],
    'the test script of a package': [
      { 'package.json': '{"scripts":{"pretest":"node x && git diff --exit-code"}}' },
      'npm test',
      "'git diff' in the test script of package.json",
    ],
    'another script of a package': [
      { 'package.json': '{"scripts":{"release":"git push"}}' },
      'npm test',
      null,
    ],
    'a Python build tool': [
      { 'api/pyproject.toml': '[build-system]\nrequires = ["setuptools-scm>=8"]\n' },
      'pytest',
      "'setuptools-scm' in api/pyproject.toml",
    ],
  };
  for (const [name, [files, run, user]] of Object.entries(users)) {
    it(`name what asks git: ${name}`, async () => {
      const repository = makeRepository({ 'a.txt': text, ...files });
      const plan = { ...commands, commands: [{ name: 'test', run }] };
      const expected = user === null ? [] : [`there is no .git folder, and ${user} asks git`];
      expect(await differencesIn(repository, plan)).to.deep.equal(expected);
    });
  }
});

/** Those of the files that a clone by git writes with other bytes than an export. */
async function filesThatDiffer(repository: TestRepository, paths: readonly string[]): Promise<string[]> {
  const exported = join(temporaryFolder(), 'export');
  await exportTree(repository.gitDir, await treeOf(repository.gitDir, 'HEAD'), exported);
  const clone = join(temporaryFolder(), 'clone');
  repository.git('clone', '-q', '--no-local', repository.gitDir, clone);
  return paths.filter((path) => {
    expect(lstatSync(join(exported, path)).isFile()).to.equal(true);
    return !readFileSync(join(exported, path)).equals(readFileSync(join(clone, path)));
  });
}
