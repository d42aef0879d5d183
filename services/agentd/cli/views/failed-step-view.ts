import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { FailedStep } from '../failed-validation.ts';
import type { Terminal } from '../terminal.ts';
import { quoted } from './plan-view.ts';

const maxLines = 20;
const maxColumns = 500;

/** The last lines of the log of a validation that failed, and where the rest is. */
export function failedStepLines({ run, log, path }: FailedStep, terminal: Terminal): string[] {
  const lines = log.replaceAll('\r\n', '\n').trimEnd().split('\n');
  const last = lines.slice(-maxLines).map((line) => line.slice(0, maxColumns));
  const said = lines.length > maxLines ? `the last ${maxLines} of ${lines.length} lines` : 'all that it said';
  return [
    `${terminal.paint.red('failed')}  ${visibleLine(run)}, ${said}:`,
    ...quoted(last.join('\n'), terminal),
    `  ${terminal.paint.dim('whole log')}  ${visibleLine(path)}`,
    '',
  ];
}
