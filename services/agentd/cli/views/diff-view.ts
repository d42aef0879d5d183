import { visibleLines } from '#kit/cli/terminal-text.ts';
import type { Run } from '../../runs/run.ts';
import type { Suggestions } from '../suggestion.ts';
import type { Paint, Terminal } from '../terminal.ts';
import { nextSteps, stepLines } from './next-steps.ts';
import { headLines } from './plan-view.ts';

/** The patch as people read it. Its bytes are those that will be applied, apart from what a terminal would obey. */
export function diffView(run: Run, patch: Uint8Array, terminal: Terminal, suggestions: Suggestions): string {
  const lines = terminal.outIsTerminal ? [...headLines(run, terminal), ''] : [];
  if (patch.length === 0) lines.push('This run changes no file.', '');
  const text = visibleLines(new TextDecoder().decode(patch));
  const body = text === '' ? '' : paintPatch(text, terminal.paint);
  const steps = nextSteps(run, suggestions).filter(({ label }) => label !== 'look');
  const after = terminal.outIsTerminal && steps.length > 0 ? ['', ...stepLines(steps, terminal), ''] : [];
  return `${lines.map((line) => `${line}\n`).join('')}${body}${after.join('\n')}`;
}

/** Colours a unified diff, line by line. A line inside a hunk is never taken for a header. */
export function paintPatch(patch: string, paint: Paint): string {
  if (!paint.isColorSupported) return patch;
  let left = 0;
  let right = 0;
  return patch
    .split('\n')
    .map((line) => {
      if (left > 0 || right > 0) {
        if (line.startsWith('+')) {
          right -= 1;
          return paint.green(line);
        }
        if (line.startsWith('-')) {
          left -= 1;
          return paint.red(line);
        }
        if (line.startsWith('\\')) return paint.dim(line);
        left -= 1;
        right -= 1;
        return line;
      }
      const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
      if (hunk === null) return line.startsWith('\\') ? paint.dim(line) : paint.bold(line);
      left = Number(hunk[1] ?? 1);
      right = Number(hunk[2] ?? 1);
      return paint.cyan(line);
    })
    .join('\n');
}
