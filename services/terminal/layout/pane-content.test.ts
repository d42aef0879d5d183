import { expect } from 'chai';
import fc from 'fast-check';
import { lineText } from '#kit/diff/line-text.ts';
import { parsePatch } from '#kit/diff/patch.ts';
import { openedSample, sampleDetail } from '../../../test/fixtures/terminal/sample.ts';
import { rowText } from '../screen/cell.ts';
import { unicodeGlyphs } from '../screen/glyphs.ts';
import { appliedPatch } from '../state/state.ts';
import { makePane } from './pane-content.ts';

const plain = {
  pieces: (patch: ReturnType<typeof parsePatch>, line: number) => [
    { text: lineText(patch, line), kind: null },
  ],
  ready: async () => {},
};

function patchOf(lines: readonly string[], path = 'x', first = 1): string {
  const removed = lines.filter((line) => line.startsWith('-')).length;
  return `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -${first},${removed} +${first},${lines.length - removed} @@\n${lines.join('\n')}\n`;
}

/** What the rows of the pane say, as far as the screen does not cut them. */
function shownText(text: string, columns: number, split: boolean): string {
  const source = { covered: [], after: [], columns, split, folded: new Set<number>(), search: '' };
  const pane = makePane({ ...source, patch: parsePatch(text) }, unicodeGlyphs, plain);
  return Array.from({ length: pane.count }, (_, row) => rowText(pane.row(row))).join('\n');
}

describe('A patch in the pane', () => {
  const piece = fc.constantFrom(
    'a',
    'evil();',
    '漢字',
    '👍🏽',
    '👨‍👩‍👧',
    '🇩🇪',
    'é',
    '\t',
    ' ',
    '…',
    '1️⃣',
    '\u0301',
  );
  const line = fc
    .tuple(fc.constantFrom('-', '+'), fc.array(piece, { maxLength: 30 }))
    .map(([sign, pieces]) => sign + pieces.join(''));

  it('is never approved where a character of it was not on the screen', () => {
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 160 }),
        fc.constantFrom('on', 'off'),
        fc.constantFrom(1, 99_990, 1_000_000),
        (lines, columns, split, first) => {
          const patch = patchOf(lines, 'p', first);
          const detail = sampleDetail();
          const terminal = openedSample({ columns, rows: 60 }, detail, patch).keys('j', 'enter');
          if (terminal.state.open!.pane.split !== split) terminal.keys('v');
          let screen = '';
          for (let page = 0; page < 30; page++) screen += `${terminal.keys(' ').screen()}\n`;
          const { action_id } = detail.actions[1]!;
          if (terminal.state.open!.seen[action_id]?.whole !== true) return;
          const letters = (text: string) => [...text].filter((one) => /[a-z漢字]/.test(one)).length;
          expect(letters(screen)).to.be.at.least(letters(lines.join('')));
        },
      ),
      { numRuns: 15 },
    );
  });

  it('keeps what stands beside wide characters, and what follows long numbers', () => {
    const beside = shownText(patchOf([`-${'漢'.repeat(24)}`, '+ok(); evil();']), 130, true);
    expect(beside).to.contain('evil();');
    const far = shownText(patchOf([`+${'y'.repeat(60)}EVIL${'z'.repeat(70)}`], 'x', 1_000_000), 78, false);
    expect(far.replace(/[\n 0-9+]/g, '')).to.contain('yEVILz');
  });

  it('shows tabs, spaces at the end, carriage returns and a missing line end, on both sides', () => {
    const patch = patchOf(['-a\tb', '-same\r', '+a   b', '+same  ']);
    for (const split of [false, true]) {
      const shown = shownText(`${patch}\\ No newline at end of file\n`, 80, split);
      for (const text of ['a⇥  b', 'a   b', 'same\\r', 'same··', 'No newline at end of file'])
        expect(shown).to.contain(text);
    }
  });

  it('shows letters in names that only look like others', () => {
    const shown = shownText(patchOf(['+x'], 'src/gr\u0435et.js'), 80, false);
    expect(shown).to.contain('src/gr\\u{435}et.js');
  });

  it('names a file in as many rows as its name takes', () => {
    const path = `${'p/'.repeat(60)}evil.sh`;
    const mode = `diff --git a/${path} b/${path}\nold mode 100644\nnew mode 100755\n`;
    expect(shownText(mode, 78, false).replaceAll('\n', '')).to.contain('p/evil.sh');
  });
});

describe('An action with a patch', () => {
  it('is shown again when its patch is another, and waits for that one', () => {
    const detail = sampleDetail();
    const terminal = openedSample(undefined, detail).keys('j');
    const other = 'f'.repeat(64);
    const changed = sampleDetail(({ actions, plan }) => {
      actions[1]!.digest = 'e'.repeat(64);
      actions[1]!.params.patch = other;
      actions[1]!.artifacts = { patch: other };
      (plan as { patch: string }).patch = other;
    });
    terminal.send({ kind: 'run', run_id: changed.run_id, detail: changed }).draw();
    expect(terminal.screen()).to.contain('The patch is being read');
    const stale = { kind: 'patch', run_id: detail.run_id, digest: appliedPatch(detail)! } as const;
    terminal.send({ ...stale, patch: parsePatch(patchOf(['+stale'])) });
    expect(terminal.screen()).to.contain('The patch is being read');
    terminal.send({ ...stale, digest: other, patch: parsePatch(patchOf(Array(200).fill('+EVIL'))) });
    expect(terminal.keys('a').taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('EVIL').and.to.contain('read it again');
    expect(terminal.keys('a').taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('Not yet on the screen');
  });

  it('is not shown where the plan and the action name two patches', () => {
    const detail = sampleDetail(({ plan }) => {
      (plan as { patch: string }).patch = 'f'.repeat(64);
    });
    expect(appliedPatch(detail)).to.equal(null);
  });
});

describe('An action like one that was rejected before', () => {
  it('says why, by whom and when, in the list and beside what is selected', () => {
    const detail = sampleDetail(({ actions }) => {
      const rejected = {
        run_id: 'run_1',
        by: 'mira',
        at: '2026-11-20T09:30:00Z',
        reason: 'too\u001b[2J early',
      };
      actions[1]!.rejected_before = [rejected];
    });
    const said = /rejected before: too\S* early \(by mira, 2026-11-20 09:30\)/;
    const lines = openedSample({ columns: 200, rows: 50 }, detail).keys('j').draw();
    expect(lines.filter((line) => said.test(line)).length).to.be.at.least(1);
    expect(lines.join()).to.not.include('\u001b');
    const narrow = openedSample({ columns: 80, rows: 50 }, detail).keys('j', 'enter').screen();
    expect(narrow).to.match(/rejected before: too/);
  });
});
