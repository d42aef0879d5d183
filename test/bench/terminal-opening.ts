import { createHighlighter } from '#kit/diff/highlight.ts';
import { parsePatch } from '#kit/diff/patch.ts';
import { update } from '../../services/terminal/input/update.ts';
import { createPanes } from '../../services/terminal/layout/pane-content.ts';
import { unicodeGlyphs } from '../../services/terminal/screen/glyphs.ts';
import { createPaint, createScreenWriter } from '../../services/terminal/screen/writer.ts';
import { appliedPatch, initialState, type State } from '../../services/terminal/state/state.ts';
import { frameOf } from '../../services/terminal/view/frame.ts';
import { sampleDetail } from '../fixtures/terminal/sample.ts';

export const lines = 50_000;
const size = { columns: 160, rows: 50 };

/** A screen with a patch of that text open in it. */
export function opened(text: string): { page(): void } {
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

export function patchText(): string {
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

// The first opening of a process, measured from the patch's text to the frame.
if (import.meta.main) {
  const text = patchText();
  const before = performance.now();
  opened(text);
  process.stdout.write(`${performance.now() - before}\n`);
}
