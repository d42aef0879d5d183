import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { copyTree } from '#kit/git/objects.ts';
import { readTree } from '#kit/git/tree.ts';
import {
  makeBareRepository,
  makeRepository,
  type TestRepository,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { applyPatchToTree } from '../git/patch.ts';
import { createScratchCopy, type GitScratchCopy, type ScratchEdit } from './scratch-copy.ts';

const odd = 'odd "name"\n -x é.txt';

describe('a scratch copy in git', () => {
  let source: TestRepository;
  let mirror: TestRepository;
  let base: string;
  let scratch: GitScratchCopy;
  let folder: string;

  before(() => {
    source = makeRepository({
      'src/a.js': 'one\ntwo\ntwo\nthree\n',
      'src/run.sh': { content: '#!/bin/sh\necho hi\n', mode: 0o755 },
      'crlf.txt': 'eins\r\nzwei\r\n',
      'no-newline.txt': 'alpha\nomega',
      'latin1.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9, 10, 0x62, 10]),
      'binary.bin': Buffer.from([0, 1, 2, 116, 119, 111]),
      '.gitattributes': '*.js text eol=crlf filter=evil diff=evil export-ignore\n',
      [odd]: 'two in an odd file\n',
      '-dash.txt': 'dash\n',
      out: { link: '/etc' },
      inside: { link: 'src' },
      'README.md': 'Hello\n',
    });
    source.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
    source.git('commit', '-q', '-m', 'A submodule');
    base = source.git('rev-parse', 'HEAD');
    mirror = makeBareRepository(source);
  });

  beforeEach(async () => {
    folder = join(temporaryFolder(), 'run');
    scratch = await createScratchCopy({ gitDir: mirror.gitDir, base_commit: base, folder });
  });

  async function text(path: string): Promise<string | null> {
    const content = await scratch.read(path);
    return content === null ? null : Buffer.from(content).toString('utf8');
  }

  async function refusal(edit: ScratchEdit): Promise<{ code: string; message: string }> {
    const before = await scratch.diff();
    try {
      await scratch.edit(edit);
    } catch (error) {
      expect((await scratch.diff()).tree).to.equal(before.tree);
      return error as { code: string; message: string };
    }
    throw new Error('the edit was expected to be refused');
  }

  it('lists regular files alone, sorted, and reads them byte for byte', async () => {
    const files = await scratch.list();
    expect(files).to.include.members(['src/a.js', odd, '-dash.txt']);
    expect(files).not.to.include.members(['out']);
    expect(files).not.to.include.members(['inside']);
    expect(files).not.to.include.members(['sub']);
    expect(files).to.deep.equal([...files].sort());
    expect(await text('crlf.txt')).to.equal('eins\r\nzwei\r\n');
    expect(await text('no-newline.txt')).to.equal('alpha\nomega');
    expect(Buffer.from((await scratch.read('latin1.txt'))!)).to.deep.equal(
      Buffer.from([0x63, 0x61, 0x66, 0xe9, 10, 0x62, 10]),
    );
  });

  it('reads nothing that is not a regular file of the tree', async () => {
    for (const path of [
      'out',
      'out/passwd',
      '../x',
      '/etc/passwd',
      'sub',
      'src',
      'inside/a.js',
      'HEAD',
      '',
    ]) {
      expect(await scratch.read(path), path).to.equal(null);
    }
  });

  it('starts with no change', async () => {
    const { tree, patch } = await scratch.diff();
    expect(tree).to.equal(source.git('rev-parse', 'HEAD^{tree}'));
    expect(patch).to.have.length(0);
  });

  it('replaces text that occurs once and keeps mode, line endings and a missing newline at the end', async () => {
    await scratch.edit({ kind: 'replace', path: 'src/run.sh', old_text: 'echo hi', new_text: 'echo ho' });
    await scratch.edit({ kind: 'replace', path: 'crlf.txt', old_text: 'eins\r\n', new_text: 'uno\r\n' });
    await scratch.edit({ kind: 'replace', path: 'no-newline.txt', old_text: 'alpha', new_text: 'beta' });
    await scratch.edit({ kind: 'replace', path: 'latin1.txt', old_text: 'b\n', new_text: 'c\n' });
    await scratch.edit({ kind: 'replace', path: odd, old_text: 'odd file', new_text: 'even file' });
    const { tree } = await scratch.diff();
    const modes = new Map((await readTree(scratch.gitDir, tree)).map(({ path, mode }) => [path, mode]));
    expect(modes.get('src/run.sh')).to.equal('100755');
    expect(await text('crlf.txt')).to.equal('uno\r\nzwei\r\n');
    expect(await text('no-newline.txt')).to.equal('beta\nomega');
    expect(Buffer.from((await scratch.read('latin1.txt'))!)[3]).to.equal(0xe9);
    expect(await text(odd)).to.equal('two in an even file\n');
  });

  it('creates and deletes files, and the patch makes the same tree of the base elsewhere', async () => {
    await scratch.edit({ kind: 'create', path: 'new/deep/file with space.txt', content: 'x\r\ny' });
    await scratch.edit({ kind: 'delete', path: 'binary.bin' });
    await scratch.edit({ kind: 'delete', path: '-dash.txt' });
    const { tree, patch } = await scratch.diff();
    const other = makeBareRepository(source);
    expect(await applyPatchToTree(other.gitDir, base, patch)).to.equal(tree);
  });

  it('creates a file again where one was deleted', async () => {
    await scratch.edit({ kind: 'delete', path: 'src/a.js' });
    await scratch.edit({ kind: 'create', path: 'src/a.js', content: 'one\ntwo\ntwo\nthree\n' });
    expect((await scratch.diff()).patch).to.have.length(0);
  });

  it('applies a git patch whole, on top of earlier edits', async () => {
    await scratch.edit({ kind: 'replace', path: 'README.md', old_text: 'Hello', new_text: 'Hi' });
    const patch = [
      'diff --git a/README.md b/docs/README.md',
      'similarity index 50%',
      'rename from README.md',
      'rename to docs/README.md',
      '--- a/README.md',
      '+++ b/docs/README.md',
      '@@ -1 +1 @@',
      '-Hi',
      '+Hey',
      '',
    ].join('\n');
    await scratch.edit({ kind: 'patch', patch });
    expect(await text('docs/README.md')).to.equal('Hey\n');
    await scratch.edit({ kind: 'replace', path: 'docs/README.md', old_text: 'Hey', new_text: 'Ho' });
    expect(await text('docs/README.md')).to.equal('Ho\n');
    expect(await text('README.md')).to.equal(null);
  });

  it('changes nothing and says why when an edit does not apply', async () => {
    const edits: [ScratchEdit, string, RegExp][] = [
      [
        { kind: 'replace', path: 'src/a.js', old_text: 'two\n', new_text: '' },
        'edit_does_not_apply',
        /more than once/,
      ],
      [
        { kind: 'replace', path: 'src/a.js', old_text: 'four', new_text: '' },
        'edit_does_not_apply',
        /does not occur/,
      ],
      [{ kind: 'replace', path: 'src/a.js', old_text: '', new_text: 'x' }, 'edit_does_not_apply', /empty/],
      [{ kind: 'replace', path: 'src/b.js', old_text: 'x', new_text: '' }, 'file_not_found', /'src\/b.js'/],
      [{ kind: 'delete', path: 'src' }, 'path_not_allowed', /folder/],
      [{ kind: 'create', path: 'src/a.js', content: '' }, 'file_exists', /exists/],
      [
        { kind: 'patch', patch: '--- a/src/a.js\n+++ b/src/a.js\n@@ -1 +1 @@\n-x\n+y\n' },
        'patch_does_not_apply',
        /src\/a.js/,
      ],
      [{ kind: 'patch', patch: 'no patch' }, 'patch_does_not_apply', /No valid patches/],
    ];
    for (const [edit, code, words] of edits) {
      const error = await refusal(edit);
      expect(error.code, JSON.stringify(edit)).to.equal(code);
      expect(error.message).to.match(words);
    }
  });

  const forbidden = [
    '../evil',
    'src/../../evil',
    '/etc/evil',
    './x',
    'src//x',
    'src/',
    '.git/config',
    'deep/.GIT/hooks/post-checkout',
    'git~1/config',
    '.git./config',
    '.git::$INDEX_ALLOCATION/x',
    '.g\u200cit/config',
    'dir\\.git\\config',
    'out/evil',
    'inside/new.js',
    'Inside/new.js',
    'sub/x',
    'SUB/x',
    'sub',
    'out',
    'src/a.js/below',
    'readme.MD',
    'a\0b',
    '\ud800',
    `${'x'.repeat(1100)}`,
  ];
  for (const path of forbidden) {
    it(`refuses every way to write ${JSON.stringify(path.slice(0, 40))}`, async () => {
      const create = await refusal({ kind: 'create', path, content: 'x' });
      expect(create.code).to.be.oneOf(['path_not_allowed', 'file_exists']);
      const replace = await refusal({ kind: 'replace', path, old_text: 'root', new_text: 'x' });
      expect(replace.code).to.equal('path_not_allowed');
      expect((await refusal({ kind: 'delete', path })).code).to.equal('path_not_allowed');
    });
  }

  it('refuses a patch that leaves the tree, by the same rules', async () => {
    for (const path of ['../evil', '.git/config', 'out/evil', 'sub/x']) {
      const patch = `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
      const { code } = await refusal({ kind: 'patch', patch });
      expect(code, path).to.be.oneOf(['patch_not_allowed', 'patch_does_not_apply']);
    }
  });

  it('finds text with path and line, in the state of the edits, within limit and prefix', async () => {
    await scratch.edit({ kind: 'create', path: 'src/new.js', content: 'zero\nhere are two\n' });
    const hits = await scratch.search('two', { limit: 10 });
    expect(hits).to.deep.include.members([
      { path: 'src/a.js', line: 2, text: 'two' },
      { path: 'src/a.js', line: 3, text: 'two' },
      { path: 'src/new.js', line: 2, text: 'here are two' },
      { path: odd, line: 1, text: 'two in an odd file' },
    ]);
    expect(hits.map(({ path }) => path)).not.to.include('binary.bin');
    expect(await scratch.search('two', { limit: 2 })).to.have.length(2);
    const below = await scratch.search('two', { limit: 10, path_prefix: 'src/n' });
    expect(below.map(({ path }) => path)).to.deep.equal(['src/new.js']);
  });

  it('takes the text to search for literally, and answers an absent one with nothing', async () => {
    await scratch.edit({
      kind: 'create',
      path: 'p.txt',
      content: `${'a'.repeat(5000)} .*[x --and ${'b'.repeat(5000)}\n`,
    });
    const [hit] = await scratch.search('.*[x --and', { limit: 5 });
    expect(hit).to.include({ path: 'p.txt', line: 1 });
    expect(hit!.text).to.have.length.below(500).and.include('.*[x --and');
    expect(await scratch.search('-e', { limit: 5 })).to.deep.equal([]);
    expect(await scratch.search('$(touch x)', { limit: 5 })).to.deep.equal([]);
  });

  it('leaves the repository that it borrows from as it was', async () => {
    const before = objectsOf(mirror);
    await scratch.edit({ kind: 'create', path: 'secret.txt', content: 'a key that must not stay\n' });
    await scratch.edit({
      kind: 'patch',
      patch: '--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-Hello\n+Bye\n',
    });
    const { tree } = await scratch.diff();
    expect(objectsOf(mirror)).to.deep.equal(before);
    await copyTree(scratch.gitDir, mirror.gitDir, tree, base);
    expect(mirror.git('cat-file', '-p', `${tree}:README.md`)).to.equal('Bye');
  });

  it('is rebuilt over whatever an interrupted planning left, also over a link', async () => {
    await scratch.edit({ kind: 'create', path: 'half.txt', content: 'half' });
    writeFileSync(join(scratch.gitDir, 'scratch-index.lock'), '');
    scratch = await createScratchCopy({ gitDir: mirror.gitDir, base_commit: base, folder });
    expect((await scratch.diff()).patch).to.have.length(0);
    await scratch.edit({ kind: 'create', path: 'half.txt', content: 'whole' });

    const precious = temporaryFolder();
    writeFileSync(join(precious, 'keep'), 'x');
    const linked = join(temporaryFolder(), 'linked');
    symlinkSync(precious, linked);
    await createScratchCopy({ gitDir: mirror.gitDir, base_commit: base, folder: linked });
    expect(existsSync(join(precious, 'keep'))).to.equal(true);
  });

  it('says that the base commit is unknown', async () => {
    mkdirSync(folder, { recursive: true });
    const options = { gitDir: mirror.gitDir, base_commit: 'f'.repeat(40), folder };
    const error = await createScratchCopy(options).then(
      () => null,
      (problem: { code: string }) => problem,
    );
    expect(error?.code).to.equal('commit_not_found');
  });
});

function objectsOf(repository: TestRepository): string[] {
  return readdirSync(join(repository.gitDir, 'objects'), { recursive: true }).map(String).sort();
}
