import { visibleLine } from '#kit/cli/terminal-text.ts';
import { type Row, type Style, span, wrapRow } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import type { State } from '../state/state.ts';

const mostLines = 6;
const tones = { plain: undefined, good: { color: 'green' }, bad: { color: 'red' } } as const;

/** What there is to say just now, in as many lines as it takes; none when there is nothing. */
export function noticeLines(state: State, columns: number, glyphs: Glyphs): readonly Row[] {
  const said = saying(state, glyphs);
  if (said === null) return [];
  const row = [span(visibleLine(said.text), said.style)];
  return wrapRow(row, Math.max(1, columns - 1), true).slice(0, mostLines);
}

function saying(state: State, glyphs: Glyphs): { text: string; style: Style | undefined } | null {
  const { notice, asking, open, now, link, runs } = state;
  if (notice !== null) return { text: notice.text, style: tones[notice.tone] };
  const working: Style = { color: 'cyan' };
  const spinner = glyphs.spinner[Math.floor(now / 1000) % glyphs.spinner.length]!;
  if (asking !== null) return { text: `${spinner} ${asking}`, style: working };
  if (link.state === 'trouble') {
    // Where nothing else is on the screen, the whole of it says so.
    if (open?.detail == null && runs.known.size === 0) return null;
    return { text: `${link.message}. ${link.hint}`, style: { color: 'red' } };
  }
  const progress = open?.progress;
  if (progress != null) {
    const seconds = Math.max(0, Math.floor((now - progress.since) / 1000));
    return { text: `${spinner} ${progress.step}  ${progress.message}  ${seconds} s`, style: working };
  }
  if (state.executingHere) {
    return {
      text: `${spinner} executing; this program does it itself, leaving would cut it off`,
      style: working,
    };
  }
  if (open?.review != null) {
    const text = `The gate ${open.review}: read on, then enter`;
    return { text, style: working };
  }
  return null;
}
