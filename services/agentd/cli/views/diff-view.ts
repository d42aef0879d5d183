import { visibleLines } from '#kit/cli/terminal-text.ts';
import type { JudgedRun } from '../../runs/run.ts';
import { paintPatch } from '../painted-patch.ts';
import { type Suggestions, stepLines } from '../suggestions.ts';
import type { Terminal } from '../terminal.ts';
import { nextSteps } from './next-steps.ts';
import { headLines } from './plan-view.ts';

/**
 * The patch as people read it. Its bytes are those that will be applied, apart from what a terminal would obey.
 * @param suggestions null where what comes next is asked, below the plan
 */
export function diffView(
  run: JudgedRun,
  patch: Uint8Array,
  terminal: Terminal,
  suggestions: Suggestions | null,
): string {
  const head = suggestions === null ? [] : headLines(run, terminal);
  const lines = terminal.outIsTerminal ? [...head, ''] : [];
  if (patch.length === 0) lines.push('This run changes no file.', '');
  const text = visibleLines(new TextDecoder().decode(patch));
  const body = text === '' ? '' : paintPatch(text, terminal.paint);
  const next = suggestions === null ? [] : nextSteps(run, suggestions, terminal.now());
  const steps = next.filter(({ label }) => label !== 'look');
  const after = terminal.outIsTerminal && steps.length > 0 ? ['', ...stepLines(steps, terminal), ''] : [];
  return `${lines.map((line) => `${line}\n`).join('')}${body}${after.join('\n')}`;
}
