import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { treeOf } from '#kit/git/tree.ts';
import { type FileContent, makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { applyPatchToTree } from './patch.ts';
import { changesBetween, patchBetween } from './tree.ts';

async function codeOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await work;
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error('the work succeeded, but was to be refused');
}

describe('a patch applied to a tree', () => {
  const repository = makeRepository({ 'f.txt': 'hi\n', 'a/b.txt': 'x\n', 'l/ink': { link: 'b' } });
  const base = repository.git('rev-parse', 'HEAD');
  const apply = (patch: string) => applyPatchToTree(repository.gitDir, base, Buffer.from(patch));
  const adding = (path: string) => `--- /dev/null\n+++ ${path}\n@@ -0,0 +1 @@\n+x\n`;
  const addingMode = (path: string, mode: string, line: string) =>
    `diff --git a/${path} b/${path}\nnew file mode ${mode}\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${line}\n\\ No newline at end of file\n`;

  const refused: [string, string, string][] = [
    ['a path with ..', adding('b/../evil'), '../evil'],
    ['an absolute path', adding('/etc/evil'), '/etc/evil'],
    ['an absolute path behind a prefix', adding('b//etc/evil'), 'etc/evil'],
    ['a git folder', adding('b/.git/config'), '.git/config'],
    ['a git folder in other case', adding('b/sub/.GiT/config'), '.GiT/config'],
    ['a git folder by its short name', adding('b/git~1/config'), 'git~1/config'],
    ['a git folder with characters that are ignored', adding('"b/.g\\342\\200\\214it/config"'), 'config'],
    ['a git folder with a stream', adding('b/.git::$INDEX_ALLOCATION/x'), '.git::'],
    ['a NUL in a name', adding('"b/x\\000y"'), 'NUL'],
    [
      'a submodule',
      addingMode('sub', '160000', `Subproject commit ${base}`).replace('\\ No newline at end of file\n', ''),
      'sub',
    ],
    ['an absolute link', addingMode('x', '120000', '/etc/passwd'), '/etc/passwd'],
    ['a link out of the tree', addingMode('a/x', '120000', '../../y'), '../../y'],
    ['a link that climbs after going down', addingMode('x', '120000', 'l/ink/../../y'), 'l/ink/../../y'],
    ['a link into the git folder', addingMode('x', '120000', '.git/hooks'), '.git/hooks'],
    ['a file behind a link that the patch makes', addingMode('n', '120000', 'a') + adding('b/n/z'), 'n/z'],
    ['a file behind a link that is there', adding('b/l/ink/z'), 'l/ink/z'],
    [
      'a rename out of the tree',
      'diff --git a/f.txt b/../g\nsimilarity index 100%\nrename from f.txt\nrename to ../g\n',
      '../g',
    ],
  ];
  for (const [what, patch, name] of refused) {
    it(`is refused for ${what}, naming it`, async () => {
      const error = await codeOf(apply(patch));
      expect(error.code).to.equal('patch_not_allowed');
      expect(error.message).to.contain(name);
    });
  }

  it('is reported in the words of git if it does not apply', async () => {
    const error = await codeOf(apply('--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-other\n+new\n'));
    expect(error.code).to.equal('patch_does_not_apply');
    expect(error.message).to.contain('f.txt');
    expect((await codeOf(apply(''))).code).to.equal('patch_does_not_apply');
    expect((await codeOf(apply('no patch at all'))).code).to.equal('patch_does_not_apply');
  });

  it('is applied within the repository’s own folder, where what a killed process left is removed', async () => {
    const places = ['core-index-killed', 'core-index-at-work'].map((name) => join(repository.gitDir, name));
    for (const place of places) {
      mkdirSync(place);
      writeFileSync(join(place, 'index'), 'half');
    }
    utimesSync(places[0]!, 1, 1);
    const { TMPDIR } = process.env;
    process.env.TMPDIR = '/nowhere';
    try {
      await apply(adding('b/new.txt'));
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    }
    const left = readdirSync(repository.gitDir).filter((name) => name.startsWith('core-index-'));
    expect(left).to.deep.equal(['core-index-at-work']);
  });

  it('takes a removed line that looks like a header for what it is', async () => {
    const odd = makeRepository({ 'q.sql': '-- /etc/passwd\nselect\n' });
    const tree = await applyPatchToTree(
      odd.gitDir,
      'HEAD',
      Buffer.from('--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n--- /etc/passwd\n select\n'),
    );
    expect(odd.git('show', `${tree}:q.sql`)).to.equal('select');
  });

  it('makes the same tree again from every change there is', async () => {
    const name = fc.constantFrom(
      'a',
      'dir/a',
      'dir/b',
      '-dash',
      'sp ace',
      'new\nline',
      'qu"ote',
      'tab\t',
      'ü',
      '.gitattributes',
      'deep/er/x',
    );
    const content = fc.oneof(
      fc.string(),
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(
        'one\r\ntwo\r\n',
        'no newline',
        '',
        '* text eol=crlf -diff\n',
        'a\nb\nc\nd\ne\n',
        'a\nb\nX\nd\ne\n',
      ),
      fc.record({ content: fc.constant('#!/bin/sh\n'), mode: fc.constantFrom(0o755, 0o644) }),
      fc.record({ link: fc.constantFrom('a', 'dir', './sp ace') }),
    );
    const files = fc.dictionary(name, content, { minKeys: 1, maxKeys: 5 });
    const property = fc.asyncProperty(files, files, async (before, after) => {
      const r = makeRepository();
      const first = r.commit(before as Record<string, FileContent>);
      r.git('rm', '-rq', '--cached', '.');
      r.git('clean', '-fdxq');
      const second = r.commit(after as Record<string, FileContent>);
      const wanted = await treeOf(r.gitDir, second);
      if (wanted === (await treeOf(r.gitDir, first))) return;
      const patch = await patchBetween(r.gitDir, first, wanted);
      expect(await applyPatchToTree(r.gitDir, first, patch)).to.equal(wanted);
      const shown = (await changesBetween(r.gitDir, first, wanted)).map(({ path }) => path);
      for (const path of shown) expect(patch.length > 0 && path !== '').to.equal(true);
    });
    await fc.assert(property, { numRuns: 20 });
  });
});
