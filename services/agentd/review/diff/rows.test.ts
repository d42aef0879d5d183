import { expect } from 'chai';
import { parsePatch } from '#kit/diff/patch.ts';
import { chunkRows, partnersOf, rowsOf } from './rows.ts';

const header = (path: string) => [`diff --git a/${path} b/${path}`, `--- a/${path}`, `+++ b/${path}`];
const context = (count: number) => Array.from({ length: count }, (_, line) => ` line ${line}`);

describe('Rows of a diff', () => {
  it('have every line of the patch, once in one column and once a side in two', () => {
    const patch = parsePatch(
      [...header('a'), '@@ -1,4 +1,4 @@', ' one', '-two', '-three', '+2', '+3', '+4', ' four'].join('\n'),
    );
    expect([...rowsOf(patch, false).left]).to.deep.equal([...patch.lines.keys()]);
    const split = rowsOf(patch, true);
    const pairs = [...split.left].map((line, row) => [line, split.right[row]]);
    expect(pairs.slice(4)).to.deep.equal([
      [4, 4],
      [5, 7],
      [6, 8],
      [-1, 9],
      [10, 10],
    ]);
  });

  it('come in chunks that follow one another, never more than are fetched at once', () => {
    const lines = [...header('a'), '@@ -0,0 +1,950 @@', ...context(950).map((line) => `+${line}`)];
    const { sections, left } = rowsOf(parsePatch(lines.join('\n')), false);
    const chunks = sections.flatMap(({ chunks }) => chunks);
    expect(chunks[0]).to.include({ from: 0, end: 3, folded: 'header' });
    for (const [index, { from, end, folded }] of chunks.entries()) {
      expect(from).to.equal(chunks[index - 1]?.end ?? 0);
      if (folded === null) expect(end - from).to.be.within(1, chunkRows);
    }
    expect(chunks.at(-1)!.end).to.equal(left.length);
  });

  it('fold long unchanged parts away and leave some lines around each change', () => {
    const lines = [...header('a'), '@@ -1,101 +1,101 @@', ...context(60), '-x', '+y', ...context(40)];
    const { sections } = rowsOf(parsePatch(lines.join('\n')), false);
    const folded = sections[0]!.chunks.filter((chunk) => chunk.folded === 'context');
    expect(folded.map(({ from, end }) => [from, end])).to.deep.equal([
      [4 + 8, 4 + 60 - 8],
      [4 + 62 + 8, 4 + 102 - 8],
    ]);
  });

  it('show the header where it says what the heading does not, and fold binary content', () => {
    const patch = parsePatch(
      [
        'diff --git a/run.sh b/run.sh',
        'old mode 100644',
        'new mode 100755',
        'diff --git a/logo.png b/logo.png',
        'new file mode 100644',
        'index 0000000..1111111',
        'GIT binary patch',
        'literal 10',
        'Rcmb=J00',
        '',
        'literal 0',
        'Hc$@<O00001',
        '',
      ].join('\n'),
    );
    const { sections } = rowsOf(patch, false);
    expect(sections.map(({ chunks }) => chunks.map(({ folded }) => folded))).to.deep.equal([
      [null],
      [null, 'binary'],
    ]);
  });

  it('are compared with their counterpart where as many lines come as go', () => {
    const lines = [...header('a'), '@@ -1,3 +1,3 @@', '-a', '-b', '+c', '+d', ' x', '-e', '+f', '+g'];
    const partners = partnersOf(parsePatch(lines.join('\n')));
    expect([...partners]).to.deep.equal([-1, -1, -1, -1, 6, 7, 4, 5, -1, -1, -1, -1]);
  });
});
