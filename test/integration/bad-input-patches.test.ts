import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeRepository, type TestRepository } from '../fixtures/repositories/repository.ts';
import {
  allowUnsandboxed,
  changeOf,
  expectVerified,
  issueWith,
  kindsOf,
  makePlace,
  type outcomeOf,
  type Place,
  statesOf,
  validated,
} from '../fixtures/world/place.ts';
import { makeWorld, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const noise = (length: number, seed: number) =>
  Buffer.from(Array.from({ length }, (_, i) => (i * i * 31 + seed * i) & 255));

const files = {
  ...validated,
  'plain.txt': 'one\ntwo\nthree\n',
  'crlf.txt': 'one\r\ntwo\r\nthree\r\n',
  'mixed.txt': 'one\r\ntwo\nthree\r\n',
  'no-newline.txt': 'one\ntwo',
  'picture.bin': noise(5000, 7),
  'script.sh': '#!/bin/sh\necho hello\n',
  'folder/deep/file.txt': 'deep\n',
  '.gitignore': 'ignored/\n*.log\n',
  '.gitattributes': '*.eol text eol=crlf\n*.loud filter=loud\n',
  'ends.eol': 'one\ntwo\n',
  'voice.loud': 'hello\n',
};

/** Changes that must arrive at the remote as exactly the tree that they make. */
const changes: Readonly<Record<string, (dir: string) => void>> = {
  'binary files changed, added and removed': (dir) => {
    writeFileSync(join(dir, 'picture.bin'), Buffer.concat([noise(5000, 7).subarray(0, 3000), noise(800, 3)]));
    writeFileSync(join(dir, 'new.bin'), noise(3000, 11));
    writeFileSync(join(dir, 'nul'), 'a\0b');
  },
  'a binary file removed': (dir) => rmSync(join(dir, 'picture.bin')),
  'a file with CRLF': (dir) => writeFileSync(join(dir, 'crlf.txt'), 'one\r\n2\r\nthree\r\nfour\r\n'),
  'CRLF turned into LF': (dir) => writeFileSync(join(dir, 'crlf.txt'), 'one\ntwo\nthree\n'),
  'one line of a file with mixed line ends': (dir) =>
    writeFileSync(join(dir, 'mixed.txt'), 'one\r\n2\nthree\r\n'),
  'a last line without line break, made and mended': (dir) => {
    writeFileSync(join(dir, 'no-newline.txt'), 'one\ntwo\n');
    writeFileSync(join(dir, 'plain.txt'), 'one\ntwo\nthree');
    writeFileSync(join(dir, 'empty'), '');
  },
  'file modes alone': (dir) => chmodSync(join(dir, 'script.sh'), 0o755),
  'a file renamed, and one renamed and changed': (dir) => {
    renameSync(join(dir, 'plain.txt'), join(dir, 'moved to.txt'));
    renameSync(join(dir, 'folder/deep/file.txt'), join(dir, 'folder/file.txt'));
    writeFileSync(join(dir, 'script.sh'), '');
    writeFileSync(join(dir, 'folder/again.sh'), '#!/bin/sh\necho hello\necho more\n');
  },
  'a file in place of a folder, and a folder in place of a file': (dir) => {
    rmSync(join(dir, 'folder'), { recursive: true });
    writeFileSync(join(dir, 'folder'), 'now a file\n');
    rmSync(join(dir, 'plain.txt'));
    mkdirSync(join(dir, 'plain.txt'));
    writeFileSync(join(dir, 'plain.txt/inside'), 'x\n');
  },
  'links inside the tree': (dir) => {
    symlinkSync('../plain.txt', join(dir, 'folder/link'));
    rmSync(join(dir, 'script.sh'));
    symlinkSync('plain.txt', join(dir, 'script.sh'));
  },
  'ignored files': (dir) => {
    mkdirSync(join(dir, 'ignored'));
    writeFileSync(join(dir, 'ignored/file'), 'x\n');
    writeFileSync(join(dir, 'build.log'), 'x\n');
  },
  'files with line ending attributes and filters': (dir) => {
    writeFileSync(join(dir, 'voice.loud'), 'hello\nagain\n');
    writeFileSync(join(dir, 'other.loud'), 'new\n');
  },
  'names with spaces, quotes, line breaks, dashes, controls and other scripts': (dir) => {
    const names = [
      'with space.txt',
      ' leading and trailing ',
      '"quoted" \'twice\'.txt',
      'line\nbreak.txt',
      'tab\tname.txt',
      'back\\slash.txt',
      '-rf',
      '--help',
      'grüße-ホ.txt',
      'esc\u001b[31mred.txt',
      '{{approved_by}}.txt',
      'a|b`c`.md',
      '$(touch pwned)',
      ';touch pwned',
      '*?[x]',
      ':(glob)x',
      '~',
      '@{u}',
      'a => b',
      'c.txt\r',
    ];
    for (const name of names) writeFileSync(join(dir, name), `${JSON.stringify(name)}\n`);
    mkdirSync(join(dir, '-folder /in side'), { recursive: true });
    writeFileSync(join(dir, '-folder /in side/x'), 'x\n');
  },
};

/** Patches that must never become an action; each with the words by which the person learns why. */
const refused: Readonly<Record<string, readonly [string, RegExp]>> = {
  'a path above the tree': [creation('../outside'), /\.\./],
  'a path above the tree, deeper': [creation('folder/../../outside'), /\.\./],
  'an absolute path': [`--- /dev/null\n+++ /tmp/outside\n@@ -0,0 +1 @@\n+x\n`, /absolute/],
  'a path in .git': [creation('.git/hooks/post-checkout'), /git folder/],
  'a path in .GIT': [creation('.GIT/config'), /git folder/],
  'a path in a .Git of a folder': [creation('folder/.Git/config'), /git folder/],
  'a short name of .git': [creation('GIT~1/config'), /git folder/],
  'a .git with characters that some systems ignore': [creation('.g\u200cit/config'), /git folder/],
  'a .git with a trailing dot': [creation('.git./config'), /git folder/],
  'a .git stream': [creation('.git::$INDEX_ALLOCATION/config'), /git folder/],
  'a .git behind a backslash': [creation('folder\\.git\\config'), /git folder/],
  'a link to an absolute path': [link('escape', '/etc'), /absolute path '\/etc'/],
  'a link out of the tree': [link('folder/escape', '../../outside'), /out of the tree/],
  'a link into .git': [link('escape', '.git/config'), /git folder/],
  'a file written through a link': [
    link('way', 'folder') + creation('way/file'),
    /symbolic link|does not apply|beyond/,
  ],
  'a rename into .git': [
    'diff --git a/plain.txt b/.git/config\nsimilarity index 100%\nrename from plain.txt\nrename to .git/config\n',
    /git folder/,
  ],
  'a submodule': [
    `diff --git a/sub b/sub\nnew file mode 160000\nindex ${'0'.repeat(40)}..${'1'.repeat(40)}\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit ${'1'.repeat(40)}\n`,
    /submodule/,
  ],
  'a binary change without its content': [
    'diff --git a/picture.bin b/picture.bin\nindex 1111111..2222222 100644\nBinary files a/picture.bin and b/picture.bin differ\n',
    /--binary/,
  ],
  'a binary patch whose content is damaged': [
    `diff --git a/new.bin b/new.bin\nnew file mode 100644\nindex ${'0'.repeat(40)}..${'1'.repeat(40)}\nGIT binary patch\nliteral 10\nRc$~{iZfSG?V{dL\n\n`,
    /corrupt|binary|does not apply/,
  ],
  'a hunk that is cut off': [
    '--- a/plain.txt\n+++ b/plain.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n',
    /cut off/,
  ],
  'a hunk that does not fit': [
    '--- a/plain.txt\n+++ b/plain.txt\n@@ -1,2 +1,2 @@\n eins\n-zwei\n+2\n',
    /plain\.txt, line 1: the lines of the hunk are not there/,
  ],
  'a file that is not there': ['--- a/nowhere.txt\n+++ b/nowhere.txt\n@@ -1 +1 @@\n-x\n+y\n', /nowhere\.txt/],
  'a file that is there already': [creation('plain.txt'), /plain\.txt/],
  'a NUL in a name': [
    'diff --git "a/x\\000y" "b/x\\000y"\nnew file mode 100644\n--- /dev/null\n+++ "b/x\\000y"\n@@ -0,0 +1 @@\n+x\n',
    /NUL/,
  ],
};

describeWith(['time'], 'what a patch may hold', () => {
  for (const vcs of ['git', 'jj'] as const) {
    describeWith([vcs], `executed with ${vcs}`, () => {
      let world: World;
      let source: TestRepository;
      let place: Place;

      before(async () => {
        world = await makeWorld({ vcs: vcs === 'git' ? 'git' : 'jj' });
        allowUnsandboxed(world);
        // jj leaves repositories with filters to git.
        const { 'voice.loud': _voice, '.gitattributes': _attributes, ...plain } = files;
        source = makeRepository(vcs === 'jj' ? plain : files);
        place = await makePlace(world, 'files', source);
      });
      after(() => world?.close());

      for (const [what, change] of Object.entries(changes)) {
        if (vcs === 'jj' && what.includes('filters')) continue;
        it(`publishes ${what} byte for byte, and takes it back`, async () => {
          const { patch, tree } = changeOf(source, (copy) => change(copy.dir));
          const planned = await place.plan(issueWith(patch));
          expect(kindsOf(planned)[1], outcomeText(planned)).to.equal('apply_patch');
          expect(planned.plan!.target.tree).to.equal(tree);
          const run = await place.execute(await world.approve(planned));
          expect(
            Object.values(statesOf(run)),
            JSON.stringify(run.actions.map(({ outcome }) => outcome)),
          ).to.deep.equal(Array(7).fill('succeeded'));
          const branch = planned.plan!.target.branch!;
          expect(place.remote.git('rev-parse', `${branch}^{tree}`)).to.equal(tree);
          expect(place.checkout.git('rev-parse', `${branch}^{tree}`)).to.equal(tree);
          expect(place.changes().filter((line) => line !== '+ .git/refs/heads/core')).to.deep.equal([
            `+ .git/refs/heads/${branch}`,
          ]);
          await expectVerified(world, run);
          const undone = await place.undo(run);
          expect(undone.status).to.equal('undone');
          expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
          expect(place.checkout.git('branch', '--list', 'core/*')).to.equal('');
          place.accept();
        });
      }
    });
  }

  describe('refused', () => {
    let world: World;
    let place: Place;

    before(async () => {
      world = await makeWorld({ vcs: 'git' });
      allowUnsandboxed(world);
      place = await makePlace(world, 'files', makeRepository(files));
    });
    after(() => world?.close());

    for (const [what, [patch, words]] of Object.entries(refused)) {
      it(`proposes no change for ${what}, and says why`, async () => {
        const run = await place.plan(issueWith(patch));
        expect(kindsOf(run)).to.deep.equal(['comment_issue']);
        expect(outcomeText(run)).to.match(words);
        await expectVerified(world, run);
      });
    }

    it('takes only a part of a comment for no patch: all of its blocks count', async () => {
      const good = '--- a/plain.txt\n+++ b/plain.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n';
      const run = await place.plan(`${issueWith(good)}\n${issueWith(creation('../outside'))}`);
      expect(kindsOf(run)).to.deep.equal(['comment_issue']);
    });

    it('shows names from a patch without what would command a terminal', async () => {
      const { patch } = changeOf(makeRepository(files), (copy) => {
        writeFileSync(join(copy.dir, 'esc\u001b]0;owned\u0007\u001b[2J.txt'), 'x\n');
        writeFileSync(join(copy.dir, 'two\nlines.txt'), 'x\n');
        writeFileSync(join(copy.dir, 'right\u202eleft.txt'), 'x\n');
      });
      const run = await place.plan(issueWith(patch), 'Title \u001b[31m red\nand a second line');
      for (const args of [['show', run.run_id], ['actions', run.run_id], ['diff', run.run_id], ['runs']]) {
        const { code, stdout } = await world.command(args);
        expect(code, args[0]).to.equal(0);
        expect(stdout, args[0]).to.not.match(/[\u0000-\u0008\u000b-\u001f\u007f\u202e]/);
      }
    });
  });
});

function outcomeText(run: Parameters<typeof outcomeOf>[0]): string {
  const { definition } = run.actions.at(-1)!;
  return JSON.stringify(definition.params);
}

function creation(path: string): string {
  return `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
}

function link(path: string, target: string): string {
  return `diff --git a/${path} b/${path}\nnew file mode 120000\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${target}\n\\ No newline at end of file\n`;
}
