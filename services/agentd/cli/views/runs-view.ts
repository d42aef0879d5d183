import { age } from '#kit/cli/moments.ts';
import type { Cell, Column } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { counted } from '#kit/counted.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { isFailedPlanning, type RunStatus } from '../../runs/run.ts';
import type { RunPage } from '../../runs/run-store.ts';
import { table } from '../layout.ts';
import { commandLine, type Suggestions, shortRunId, stepLines } from '../suggestions.ts';
import type { Paint, Terminal } from '../terminal.ts';

const columns: readonly Column[] = [
  { title: 'run' },
  { title: 'status' },
  { title: 'issue', gives: { turn: 2, to: 14 }, excess: 'cutStart' },
  { title: 'when', gives: { turn: 3, to: 'gone' } },
  { title: 'waits' },
  { title: 'title', gives: { turn: 1, to: 12 } },
];

export interface ListedRuns extends RunPage {
  readonly runs_count: number;
  /** Number of failed plannings that the whole list leaves out, if this is all of it; default 0. */
  readonly left_out?: number;
}

/**
 * The list of runs, newest first.
 * @param asked the options that this page was asked for with; the next one is suggested with the same
 */
export function runsView(
  { runs, next_cursor, problems, runs_count, left_out = 0 }: ListedRuns,
  terminal: Terminal,
  suggestions: Suggestions,
  asked: readonly string[] = [],
  filters = '',
): string {
  const { paint } = terminal;
  const suggested = (...words: string[]) => paint.cyan(commandLine(suggestions, ...words));
  const command = (...words: string[]) => commandLine(suggestions, 'runs', ...asked, ...words);
  const rows = runs.map((run): Cell[] => [
    shortRunId(run.run_id),
    {
      text: isFailedPlanning(run) ? `planning ${run.status}` : run.status,
      paint: statusPaint(run.status, paint),
    },
    subjectOf(run),
    age(run.updated_at, terminal.now()),
    waitsFor(run),
    run.title ?? '',
  ]);
  const none =
    runs_count === 0
      ? ['No runs here yet.', `  plan     ${suggested('plan', 'OWNER/REPO#N')}`]
      : [
          filters === ''
            ? `No run has a plan, of ${counted(runs_count, 'run')} in all.`
            : `No run with ${visibleLine(filters)}, of ${counted(runs_count, 'run')} in all.`,
          `  all  ${suggested('runs', '--all')}`,
        ];
  const lines = runs.length === 0 ? none : table(columns, rows, terminal, 0);
  if (runs.length > 0 && next_cursor !== null)
    lines.push(
      '',
      ...stepLines(
        [
          { label: 'all', command: command('--all') },
          { label: 'more', command: command('--cursor', next_cursor) },
        ],
        terminal,
      ),
    );
  if (runs.length > 0 && left_out > 0)
    lines.push(
      '',
      `${counted(left_out, 'run')} whose planning failed ${left_out === 1 ? 'is' : 'are'} not listed.`,
      ...stepLines([{ label: 'all', command: command('--all') }], terminal),
    );
  for (const problem of problems) lines.push(`${paint.yellow('note')}  ${visibleLine(problem)}`);
  return `${lines.join('\n')}\n`;
}

/** The gate that waits for a decision; `execute` where all that can still run is approved. */
function waitsFor({ status, waits_for }: RunPage['runs'][number]): string {
  return waits_for ?? (status === 'awaiting_approval' ? 'execute' : '-');
}

export function statusPaint(status: RunStatus, paint: Paint): (text: string) => string {
  const { green, red, yellow, cyan, dim } = paint;
  const paints: Record<RunStatus, Paint['red']> = {
    completed: green,
    awaiting_approval: yellow,
    partially_completed: yellow,
    interrupted: yellow,
    failed: red,
    planning: cyan,
    executing: cyan,
    rejected: dim,
    undone: dim,
    cancelled: dim,
    superseded: dim,
  };
  return paints[status];
}
