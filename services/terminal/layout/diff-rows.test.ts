import { expect } from 'chai';
import { createHighlighter } from '#kit/diff/highlight.ts';
import { lineText } from '#kit/diff/line-text.ts';
import { lineKinds, parsePatch } from '#kit/diff/patch.ts';
import { rowText } from '../screen/cell.ts';
import { layDiff, rowOfLine } from './diff-rows.ts';

const patch = parsePatch(
  [
    'diff --git a/src/a.js b/src/a.js',
    '--- a/src/a.js',
    '+++ b/src/a.js',
    '@@ -1,3 +1,4 @@',
    ' one',
    '-two',
    '--- a/fake',
    '+2',
    '+diff --git a/no b/no',
    '+third\tcolumn\x1b[31m',
    'diff --git a/old name b/new name',
    'similarity index 100%',
    'rename from old name',
    'rename to new name',
    'diff --git a/bin b/bin',
    'new file mode 100755',
    '',
  ].join('\n'),
);

const nameRow = () => [{ text: 'name' }];

describe('A patch', () => {
  it('is taken apart by its hunks, whatever its lines look like', () => {
    expect(
      patch.files.map(({ path, oldPath, status, added, removed }) => [path, oldPath, status, added, removed]),
    ).to.deep.equal([
      ['src/a.js', null, 'modified', 3, 2],
      ['new name', 'old name', 'renamed', 0, 0],
      ['bin', null, 'added', 0, 0],
    ]);
    expect(patch.kinds[6]).to.equal(lineKinds.removed);
    expect([patch.oldNumbers[6], patch.newNumbers[9]]).to.deep.equal([3, 4]);
  });

  it('shows what a terminal would obey', () => {
    expect(lineText(patch, 9)).to.equal('third   column\\x1b[31m');
  });

  it('has every line on some row, long ones on several', () => {
    const { rows } = layDiff(patch, { columns: 16, split: false, folded: new Set(), nameRow });
    const lines = rows.map(({ left }) => left);
    expect([...new Set(lines)]).to.deep.equal([...patch.lines.keys()]);
    expect(lines.filter((line) => line === 9).length).to.be.above(1);
    expect(rows.at(-1)!.end).to.equal(patch.lines.length);
  });

  it('puts what was taken away beside what was added', () => {
    const { rows } = layDiff(patch, { columns: 200, split: true, folded: new Set(), nameRow });
    const pairs = rows.map(({ left, right }) => [left, right]);
    expect(pairs.slice(4, 8)).to.deep.equal([
      [4, 4],
      [5, 7],
      [6, 8],
      [-1, 9],
    ]);
    for (const [index, { end }] of rows.slice(0, -1).entries()) expect(rows[index + 1]!.begin).to.equal(end);
  });

  it('hides a folded file but for its name, and leaves a gap in what was shown', () => {
    const rows = layDiff(patch, { columns: 80, split: false, folded: new Set([0]), nameRow });
    const [first, second] = rows.rows;
    expect(second!.left).to.equal(10);
    expect(second!.begin).to.be.above(first!.end);
    expect(rowOfLine(rows, 8)).to.equal(0);
  });

  it('is coloured without a character becoming another', async () => {
    let loaded = () => {};
    const ready = new Promise<void>((resolve) => {
      loaded = resolve;
    });
    const highlighter = createHighlighter(() => loaded());
    const code = parsePatch(
      'diff --git a/x.js b/x.js\n--- a/x.js\n+++ b/x.js\n@@ -0,0 +1,2 @@\n+const a = "<&>\'"; // no\n+return 1;\n',
    );
    expect(highlighter.pieces(code, 4, 'x.js')).to.have.length(1);
    await ready;
    const pieces = highlighter.pieces(code, 4, 'x.js');
    expect(rowText(pieces)).to.equal('const a = "<&>\'"; // no');
    expect(pieces.find(({ text }) => text === 'const')?.kind).to.equal('keyword');
  });
});
