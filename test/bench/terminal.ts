import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHighlighter } from '../../services/terminal/diff/highlight.ts';
import { parsePatch } from '../../services/terminal/diff/parse-patch.ts';
import { appliedPatch, initialState, type State } from '../../services/terminal/model/state.ts';
import { update } from '../../services/terminal/model/update.ts';
import { unicodeGlyphs } from '../../services/terminal/screen/glyphs.ts';
import { createPaint } from '../../services/terminal/screen/paint.ts';
import { createScreenWriter } from '../../services/terminal/screen/writer.ts';
import { frameOf } from '../../services/terminal/views/frame.ts';
import { createPanes } from '../../services/terminal/views/panes.ts';
import { sampleDetail } from '../fixtures/terminal/sample.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

const lines = 50_000;
const frames = 30;
const size = { columns: 160, rows: 50 };

export const terminal: Benchmark = {
  summary: `milliseconds until ${lines.toLocaleString('en')} lines of a patch are on the screen, and for ${frames} pages of it`,
  async run(folder) {
    const text = patchText();
    const file = join(folder, 'a.patch');
    writeFileSync(file, text);
    const samples = await takeTurns(10, {
      git: () =>
        timed(() => void execFileSync('git', ['apply', '--numstat', file], { cwd: folder, stdio: 'pipe' })),
      open: () => timed(() => void opened(text)),
      scroll() {
        const screen = opened(text);
        return timed(() => {
          for (let frame = 0; frame < frames; frame++) screen.page();
        });
      },
    });
    const yardstick = 'git apply --numstat of the same patch';
    return [
      compare({ subject: 'opening', yardstick, measure: 'time', bar: 4 }, samples.open, samples.git),
      compare(
        { subject: `${frames} frames`, yardstick, measure: 'time', bar: 6 },
        samples.scroll,
        samples.git,
      ),
    ];
  },
};

function timed(work: () => void): number {
  const before = performance.now();
  work();
  return performance.now() - before;
}

function opened(text: string): { page(): void } {
  const panes = createPanes(
    unicodeGlyphs,
    createHighlighter(() => {}),
  );
  const looks = { glyphs: unicodeGlyphs, panes, program: 'core tui' };
  const writer = createScreenWriter({ write: () => {}, paint: createPaint({ color: true }), ellipsis: '…' });
  const detail = sampleDetail();
  let state: State = initialState(size, 0, null);
  const send = (message: Parameters<typeof update>[1]) => {
    state = update(state, message, panes).state;
  };
  const draw = () => {
    const { rows, shown } = frameOf(state, looks);
    writer.draw(rows, size);
    if (shown !== null) send({ kind: 'drawn', shown });
  };
  const key = (name: string) => send({ kind: 'input', input: { kind: 'key', key: name } });
  send({ kind: 'planned', run_id: detail.run_id });
  send({ kind: 'run', run_id: detail.run_id, detail });
  key('j');
  key('enter');
  send({ kind: 'patch', run_id: detail.run_id, digest: appliedPatch(detail)!, patch: parsePatch(text) });
  draw();
  return {
    page() {
      key(' ');
      draw();
    },
  };
}

function patchText(): string {
  const files = 50;
  const each = lines / files / 2;
  return Array.from({ length: files }, (_, file) => {
    const path = `src/file${file}.js`;
    const changes = Array.from(
      { length: each },
      (_, line) => `-const before${line} = ${line};\n+const after${line} = 'text ${line}'; // changed\n`,
    );
    return `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1,${each} +1,${each} @@\n${changes.join('')}`;
  }).join('');
}
