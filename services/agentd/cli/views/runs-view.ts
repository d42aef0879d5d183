import { age } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { RunPage } from '../../runs/run-store.ts';
import { type Cell, table } from '../layout.ts';
import { commandLine, type Suggestions, shortRunId } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';
import { statusPaint } from './status-paint.ts';

/**
 * The list of runs, newest first.
 * @param asked the options that this page was asked for with; the next one is suggested with the same
 */
export function runsView(
  page: RunPage,
  terminal: Terminal,
  suggestions: Suggestions,
  asked: readonly string[] = [],
): string {
  const { paint, symbols } = terminal;
  const lines: string[] = [];
  if (page.runs.length === 0) {
    lines.push('No runs here yet.');
    lines.push(
      `  plan     ${paint.cyan(commandLine(suggestions, 'plan-issue', '--owner', 'OWNER', '--repo', 'REPO', '--number', 'N'))}`,
    );
  } else {
    const header = ['run', 'status', 'issue', 'when', 'waits', 'title'].map(
      (text): Cell => ({ text, paint: paint.dim }),
    );
    const rows = page.runs.map((run): Cell[] => [
      { text: shortRunId(run.run_id) },
      { text: run.status, paint: statusPaint(run.status, paint) },
      { text: visibleLine(`${run.owner}/${run.repo}#${run.number}`) },
      { text: age(run.updated_at, terminal.now()) },
      { text: run.waiting > 0 ? `${run.waiting} of ${run.actions}` : '-' },
      { text: visibleLine(run.title ?? '') },
    ]);
    lines.push(
      ...table([header, ...rows], { indent: 0, gap: 2, width: terminal.width, ellipsis: symbols.ellipsis }),
    );
    if (page.next_cursor !== null)
      lines.push(
        '',
        `  more  ${paint.cyan(commandLine(suggestions, 'runs', ...asked, '--cursor', page.next_cursor))}`,
      );
  }
  for (const problem of page.problems) lines.push(`${paint.yellow('note')}  ${visibleLine(problem)}`);
  return `${lines.join('\n')}\n`;
}
