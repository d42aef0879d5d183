import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { textOfBytes } from '#kit/diff/text-of-bytes.ts';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { readRows } from '../../../../test/fixtures/review/read-rows.ts';
import { type Diff, type DiffView, openDiff } from './diffs.ts';

const views: readonly DiffView[] = ['unified', 'split'];
const place = {
  address: '/runs/run_1/diff',
  viewAddress: (view: DiffView) => `/runs/run_1?view=${view}`,
  patchAddress: '/runs/run_1/patch',
  hasBase: false,
};

/** The patch, read back from rows that are asked for chunk by chunk, as the browser does. */
async function readBack(diff: Diff, view: DiffView): Promise<string[]> {
  const page = String(await diff.page(place, view, 'mira'));
  const lines = new Map<number, string>();
  for (const [, from, end] of page.matchAll(/data-from="(\d+)" data-end="(\d+)"/g)) {
    const markup = String(await diff.rows(place, view, Number(from), Number(end)));
    for (const [line, text] of readRows(markup)) lines.set(line, text);
  }
  return [...lines].sort(([one], [other]) => one - other).map(([, text]) => text);
}

/** Lines as rows have them: where a file's line has no sign before it, a space took its place. */
function linesOf(patch: string): string[] {
  return patch.replace(/\n$/, '').split('\n');
}

function patchOf(lines: readonly string[], path = 'a.js'): string {
  const count = (sign: string) => lines.filter((line) => line[0] === ' ' || line[0] === sign).length;
  return `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1,${count('-')} +1,${count('+')} @@\n${lines.join('\n')}\n`;
}

async function markupOf(lines: readonly string[], path = 'a.js'): Promise<string> {
  return String(await openDiff(Buffer.from(patchOf(lines, path))).page(place, 'unified', 'mira'));
}

describe('A diff on the review page', () => {
  it('gives back what git wrote, in both views', async () => {
    const folder = temporaryFolder();
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=m', '-c', 'user.email=m@localhost', ...words], { cwd: folder });
    const file = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content);
    git('init', '-q');
    const long = Array.from({ length: 90 }, (_, line) => `\tcall(${line}); `);
    file('a.js', long.join('\n'));
    file('moved.txt', long.join('\n'));
    file('run.sh', 'echo\n');
    file('gone.md', 'gone\r\n');
    file('logo.png', Buffer.from([0, 1, 2, 255]));
    git('add', '.');
    git('commit', '-qm', 'before');
    file('a.js', [...long.slice(0, 40), 'changed(<b>&"\' );', ...long.slice(41)].join('\n'));
    git('mv', 'moved.txt', 'new name.txt');
    chmodSync(join(folder, 'run.sh'), 0o755);
    rmSync(join(folder, 'gone.md'));
    file('logo.png', Buffer.from([0, 9, 2, 254]));
    file('latin.txt', Buffer.from([0x61, 0xe9, 0x0a]));
    symlinkSync('a.js', join(folder, 'link'));
    git('add', '.');
    const patch = git('diff', '--cached', '--binary', '-M', '-U60');
    const diff = openDiff(patch);
    for (const view of views)
      expect(await readBack(diff, view), view).to.deep.equal(linesOf(textOfBytes(patch)));
    const page = String(await diff.page(place, 'unified', 'mira'));
    expect(page).to.contain('from moved.txt');
    expect(page).to.contain('renamed');
    expect(page).to.contain('now executable');
    expect(page).to.contain('added, symbolic link');
    expect(page).to.contain('modified, binary');
    expect(page).to.match(/Show \d+ unchanged lines/);
  });

  it('gives back whatever stands in lines', async () => {
    const odd = [
      '\t',
      ' ',
      '\u202e',
      '\u200b',
      '\u001b[31m',
      '\r',
      '\u00a0',
      'gr\u0435et',
      '⇥',
      '·',
      '👍🏽',
      '漢',
      '\\x1b',
    ];
    const piece = fc.constantFrom(
      ...odd,
      'a',
      'const',
      '<b>',
      '&amp;',
      '"',
      "'",
      '`',
      '/*',
      '\udc80',
      '</span>',
    );
    const line = fc
      .tuple(fc.constantFrom(' ', '+', '-'), fc.array(piece, { maxLength: 8 }))
      .map(([sign, pieces]) => sign + pieces.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 30 }), async (lines) => {
        const patch = patchOf(lines);
        for (const view of views)
          expect(await readBack(openDiff(bytesOf(patch)), view)).to.deep.equal(linesOf(patch));
      }),
      { numRuns: 60 },
    );
  });

  it('is text and nothing else, whatever a patch says', async () => {
    const script = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
    const markup = await markupOf([`+${script}`, ` ${script}`], `x${script}.js`);
    expect(markup).not.to.match(/<script|<img|onerror=alert\(1\)>(?!&)/);
    expect(markup).not.to.contain('style=');
    const tags = [...markup.matchAll(/<([a-z][a-z0-9-]*)/g)].map(([, name]) => name!);
    expect([...new Set(tags)].sort()).to.deep.equal(
      'a aside button core-diff div h3 header input label ol p section span'
        .split(' ')
        .filter((tag) => tags.includes(tag)),
    );
  });

  it('shows what cannot be seen and letters that look like others', async () => {
    const markup = await markupOf([
      '+access("us\u202eer");\u200b',
      '+gr\u0435et()\u001b[31m',
      '+\tdone  ',
      ' \tas it was  ',
    ]);
    for (const shown of ['\\u{202e}', '\\u{200b}', '\\u{435}', '\\x1b'])
      expect(markup).to.contain(`<span class="escape">${shown}</span>`);
    expect(markup).not.to.match(/[\u202e\u200b\u001b\u0435]/);
    expect(markup.match(/<span class="tab">\t<\/span>/g)).to.have.length(1);
    expect(markup.match(/<span class="space"> <\/span>/g)).to.have.length(2);
  });

  it('marks the words that differ and colours the language', async () => {
    const markup = await markupOf(['-const total = before(1);', '+const total = after(1);']);
    expect(markup).to.match(/<span class="hl-keyword">const<\/span>/);
    expect(markup).to.match(/<span class="(hl-title )?word">before<\/span>/);
    expect(markup).to.match(/<span class="(hl-title )?word">after<\/span>/);
    expect(markup.match(/[ "]word"/g)).to.have.length(2);
  });

  describe('leads to lines that the patch does not show', () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index + 1}`);
    const changed = [
      ...lines.slice(0, 800),
      'two',
      'more',
      ...lines.slice(800, 1_500),
      ...lines.slice(1_501),
    ];
    const known = { ...place, hasBase: true };
    const read = async (path: string) => Buffer.from(path === 'a.js' ? `${lines.join('\n')}\n` : '');
    let patches: readonly Buffer[];

    before(() => {
      const folder = temporaryFolder();
      const [one, other] = [join(folder, 'one'), join(folder, 'other')];
      writeFileSync(one, `${lines.join('\n')}\n`);
      writeFileSync(other, `${changed.join('\n')}\n`);
      patches = [0, 3].map((context) => {
        const { stdout } = spawnSync('git', ['diff', '--no-index', `-U${context}`, one, other]);
        return Buffer.from(
          `diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n${String(stdout).slice(String(stdout).indexOf('@@'))}`,
        );
      });
    });

    /** Numbers before and after of each row, with its text. */
    function rowsOf(markup: string): string[] {
      return [...markup.matchAll(/<div role="row" class="row (?:both )?unshown">.*?<\/div>/gs)].map(([row]) =>
        row
          .replaceAll(/<[^>]*>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      );
    }

    function linksOf(markup: string): string[] {
      return [...markup.matchAll(/data-do="base" href="([^"]*)">([^<]*)</g)].map(
        ([, href, name]) => `${name}: ${href!.replaceAll('&amp;', '&').split('view=unified')[1]}`,
      );
    }

    it('with their numbers on both sides, wherever hunks begin', async () => {
      for (const [patch, context] of [
        [patches[0]!, 0],
        [patches[1]!, 3],
      ] as const) {
        const diff = openDiff(patch);
        const from = 801 + context;
        const end = 1_501 - context;
        expect(linksOf(String(await diff.page(known, 'unified', 'mira')))).to.deep.equal([
          `Show ${800 - context} unchanged lines before: &file=0&from=1&end=${801 - context}`,
          `Show ${end - from} unchanged lines before: &file=0&from=${from}&end=${end}`,
          ...(context === 0 ? [] : [`Show unchanged lines after: &file=0&from=${1_502 + context}`]),
        ]);
        const near = String(await diff.base(known, 'unified', { file: 0, from, end }, read));
        expect(rowsOf(near)).to.have.length(500);
        expect(rowsOf(near).at(-1)).to.equal(`${end - 1} ${end + 1} line ${end - 1}`);
        expect(linksOf(near)).to.deep.equal([
          `Show ${end - from - 500} more unchanged lines: &file=0&from=${from}&end=${end - 500}`,
        ]);
        const rest = String(await diff.base(known, 'split', { file: 0, from, end: end - 500 }, read));
        expect(rowsOf(rest)[0]).to.equal(`${from} line ${from} ${from + 2} line ${from}`);
        expect([rowsOf(rest).length, linksOf(rest)]).to.deep.equal([end - 500 - from, []]);
      }
    });

    it('to the end of the file', async () => {
      const diff = openDiff(patches[1]!);
      const after = String(await diff.base(known, 'unified', { file: 0, from: 1_505, end: null }, read));
      expect(rowsOf(after)).to.have.length(496);
      expect([rowsOf(after)[0], rowsOf(after).at(-1)]).to.deep.equal([
        '1505 1506 line 1505',
        '2000 2001 line 2000',
      ]);
      expect(linksOf(after)).to.deep.equal([]);
      const behind = String(await diff.base(known, 'unified', { file: 0, from: 2_001, end: null }, read));
      expect(behind).to.contain('The file ends here');
    });

    it('not without a file to read, of another file, or of one that is new or gone', async () => {
      const diff = openDiff(patches[1]!);
      expect(String(await diff.page(place, 'unified', 'mira')))
        .to.contain('797 unchanged lines before')
        .and.not.contain('data-do="base"');
      const gone = openDiff(
        Buffer.from(
          'diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n',
        ),
      );
      expect(linksOf(String(await gone.page(known, 'unified', 'mira')))).to.deep.equal([]);
      for (const [one, at, gap] of [
        [diff, place, { file: 0, from: 1, end: 5 }],
        [diff, known, { file: 1, from: 1, end: 5 }],
        [diff, known, { file: 0, from: 0, end: 5 }],
        [gone, known, { file: 0, from: 1, end: 5 }],
      ] as const)
        expect(await one.base(at, 'unified', gap, read).catch(({ code }) => code)).to.equal('invalid_input');
    });

    it('as text, whatever stands in them', async () => {
      const diff = openDiff(patches[1]!);
      const hostile = ['<script>alert(1)</script>', 'a\u202eb', 'x'.repeat(1_000_000)].join('\n');
      const markup = String(
        await diff.base(known, 'unified', { file: 0, from: 1, end: 798 }, async () => Buffer.from(hostile)),
      );
      expect(rowsOf(markup)).to.have.length(3);
      expect(markup).to.contain('&lt;script&gt;').and.contain('\\u{202e}').and.contain('1000000 characters');
      expect(markup.length).to.be.below(10_000);
    });
  });

  it('shows a line of a megabyte in part, and all of it when asked', async () => {
    const line = `+${'x'.repeat(1_000_000)}\u202e`;
    const diff = openDiff(Buffer.from(patchOf([line])));
    const page = String(await diff.page(place, 'unified', 'mira'));
    expect(page.length).to.be.below(20_000);
    expect(page).to.contain('all 1,000,001 characters');
    const whole = String(diff.line(place, 4));
    expect(whole.length).to.be.above(1_000_000);
    expect(whole).to.contain('\\u{202e}');
  });

  it('says which row a line is on in each view', async () => {
    const diff = openDiff(Buffer.from(patchOf(['-a', '-b', '+c', '+d'])));
    expect([4, 5, 6, 7].map((line) => diff.rowOf('unified', line))).to.deep.equal([4, 5, 6, 7]);
    expect([4, 5, 6, 7].map((line) => diff.rowOf('split', line))).to.deep.equal([4, 5, 4, 5]);
  });

  it('refuses rows and lines that it does not have', async () => {
    const diff = openDiff(Buffer.from(patchOf(['+a'])));
    for (const [from, end] of [
      [0, 99],
      [-1, 2],
      [3, 3],
      [Number.NaN, 4],
      [2, 5],
    ] as const) {
      let refused: unknown;
      await diff.rows(place, 'unified', from, end).catch((error) => {
        refused = error;
      });
      expect(refused, `${from} to ${end}`).to.have.property('code', 'invalid_input');
    }
    for (const line of [-1, 5, 0.5, Number.NaN]) {
      expect(() => diff.line(place, line)).to.throw(/no line/);
      expect(() => diff.rowOf('unified', line)).to.throw(/no line/);
    }
  });
});

/** The bytes for which halves of pairs stand. */
function bytesOf(text: string): Buffer {
  return Buffer.concat(
    [...text].map((character) =>
      /[\udc80-\udcff]/.test(character) && character.length === 1
        ? Buffer.from([character.charCodeAt(0) - 0xdc00])
        : Buffer.from(character),
    ),
  );
}
