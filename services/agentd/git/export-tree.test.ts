import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { git } from '#kit/git/git.ts';
import { treeOf } from '#kit/git/tree.ts';
import { makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { branchNameProblem } from './branch-name.ts';
import { exportTree } from './export-tree.ts';
import { detectSpecials, treeReader } from './tree.ts';

describe('an exported tree', () => {
  it('is byte for byte what was recorded', async () => {
    const outside = temporaryFolder();
    const repository = makeRepository({
      '.gitattributes': '* text eol=crlf\nsecret export-ignore\n*.id ident export-subst\n',
      'lines.txt': 'a\nb\n',
      secret: 'not left out\n',
      'x.id': '$Id$ $Format:%H$\n',
      'run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
      empty: '',
      'dir/deep/-dash\n"x"': 'odd\n',
      'dir/out': { link: outside },
      bytes: Uint8Array.from({ length: 256 }, (_, index) => index),
    });
    const into = join(temporaryFolder(), 'export');
    await exportTree(repository.gitDir, await treeOf(repository.gitDir, 'HEAD'), into);
    expect(readFileSync(join(into, 'lines.txt'), 'utf8')).to.equal('a\nb\n');
    expect(readFileSync(join(into, 'secret'), 'utf8')).to.equal('not left out\n');
    expect(readFileSync(join(into, 'x.id'), 'utf8')).to.equal('$Id$ $Format:%H$\n');
    expect(readFileSync(join(into, 'bytes'))).to.have.length(256);
    expect(readFileSync(join(into, 'dir/deep/-dash\n"x"'), 'utf8')).to.equal('odd\n');
    expect(lstatSync(join(into, 'run.sh')).mode & 0o111).to.equal(0o111);
    expect(lstatSync(join(into, 'lines.txt')).mode & 0o111).to.equal(0);
    expect(readlinkSync(join(into, 'dir/out'))).to.equal(outside);
    expect(readdirSync(into)).not.to.include('.git');
  });

  it('is refused whole when a name in it would open a git folder', async () => {
    const { gitDir } = makeRepository({ a: 'x\n' });
    const blob = (await git(['hash-object', '-w', '--stdin'], { gitDir, input: 'x' })).stdout
      .toString()
      .trim();
    for (const bad of ['.GIT', '.git ', 'git~1', '..', '.g\u200cit', '.git::$INDEX_ALLOCATION']) {
      const input = [bad, 'good'].map((name) => `100644 blob ${blob}\t${name}\0`).join('');
      const tree = (await git(['mktree', '-z'], { gitDir, input })).stdout.toString().trim();
      const into = join(temporaryFolder(), 'export');
      const code = await exportTree(gitDir, tree, into).then(
        () => 'nothing',
        (error) => error.code,
      );
      expect(code, bad).to.equal('tree_not_allowed');
      expect(existsSync(into)).to.equal(false);
    }
  });
});

describe('reading a commit', () => {
  it('lists and reads regular files alone', async () => {
    const repository = makeRepository({ 'b/c': 'c\n', a: 'a\n', l: { link: 'a' } });
    const reader = treeReader(repository.gitDir, 'HEAD');
    expect(await reader.list()).to.deep.equal(['a', 'b/c']);
    expect(Buffer.from((await reader.read('b/c'))!).toString()).to.equal('c\n');
    expect(await reader.read('l')).to.equal(null);
    expect(await reader.read('../a')).to.equal(null);
  });

  it('detects what jj would not see', async () => {
    const plain = makeRepository({ '.gitattributes': '* text=auto\n# *.x filter=lfs\n', a: 'x\n' });
    const commit = plain.git('rev-parse', 'HEAD');
    const none = { lfs: false, submodules: false, filters: false, foreign: false };
    expect(await detectSpecials(plain.gitDir, commit)).to.deep.equal(none);
    const lfs = plain.commit({ 'sub/.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n' });
    expect(await detectSpecials(plain.gitDir, lfs)).to.include({ lfs: true, filters: true });
    plain.git('rm', '-q', 'sub/.gitattributes');
    plain.git('update-index', '--add', '--cacheinfo', `160000,${commit},module`);
    plain.git('commit', '-q', '-m', 'Submodule');
    const submodule = plain.git('rev-parse', 'HEAD');
    expect(await detectSpecials(plain.gitDir, submodule)).to.include({ submodules: true, lfs: false });
  });
});

describe('a branch name', () => {
  it('passes the rules of git and ours', () => {
    expect(branchNameProblem('core/1-greeting-0199f3c2')).to.equal(null);
    for (const bad of [
      '',
      '-x',
      'a..b',
      'a b',
      'HEAD',
      '@',
      'a.lock',
      'a/.b',
      'a~1',
      'refs/heads/x',
      'ü',
      'x'.repeat(201),
    ]) {
      expect(branchNameProblem(bad), bad).to.be.a('string');
    }
  });
});
