import type { Command } from 'commander';
import { age } from '#kit/cli/moments.ts';
import type { Cell, Column } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { counted } from '#kit/counted.ts';
import { exitCodes } from '#kit/errors.ts';
import { repositoryOption } from '#kit/repository-name.ts';
import type { DeliveryReport, PullRequestReport, SyncReport } from '../../agent.ts';
import type { RepositoryRef } from '../../ports/forge.ts';
import { answer, type Run } from '../command.ts';
import { table } from '../layout.ts';
import { watched } from '../progress.ts';
import { commandLine, type Suggestions, shortRunId } from '../suggestions.ts';
import type { Terminal } from '../terminal.ts';

interface SyncOptions {
  readonly repository?: RepositoryRef | null;
  readonly full?: boolean;
}

/** A delivery that core-context does not take now is no failure: it stays queued, and timers run this. */
export function sync(program: Command, run: Run): void {
  program
    .command('sync')
    .description('ask the forges about pull requests, and deliver pending runs to the context service')
    .option('--repository <owner/repo>', 'of this repository alone', repositoryOption('--repository'))
    .option('--full', 'deliver every run again')
    .action(
      run(async (context, { repository = null, full = false }: SyncOptions) => {
        const { services, terminal, suggestions } = context;
        const by = await services.person();
        const report = await watched(
          context,
          (watch) => services.agent.sync({ repository, full, by }, watch),
          false,
        );
        const failures = problemsOf(report.pull_requests, false);
        const warnings = [...problemsOf(report.pull_requests, true), ...contextWarnings(report.context)];
        await answer(context, { ...report, warnings }, () =>
          syncView(report, repository, terminal, suggestions),
        );
        const { red, yellow } = terminal.paintErr;
        for (const failure of failures) terminal.err(`${red('error')}    ${failure}\n`);
        for (const warning of warnings) terminal.err(`${yellow('warning')}  ${warning}\n`);
        return failures.length > 0 ? exitCodes.unavailable : exitCodes.done;
      }),
    );
}

function syncView(
  { pull_requests, context }: SyncReport,
  repository: SyncOptions['repository'],
  terminal: Terminal,
  suggestions: Suggestions,
): string {
  const lines =
    pull_requests.length === 0
      ? [
          repository == null
            ? 'No run has a pull request yet.'
            : `No run of ${visibleLine(`${repository.owner}/${repository.repo}`)} has a pull request yet.`,
          contextLine(context),
          `  runs     ${terminal.paint.cyan(commandLine(suggestions, 'runs'))}`,
        ]
      : [...pullRequestLines(pull_requests, terminal), contextLine(context)];
  return `${lines.join('\n')}\n`;
}

const columns: readonly Column[] = [
  { title: 'pull request', gives: { turn: 1, to: 14 }, excess: 'cutStart' },
  { title: 'state' },
  { title: 'checks' },
  { title: 'ended', gives: { turn: 2, to: 'gone' } },
  { title: 'run' },
  { title: '' },
];

function pullRequestLines(pulls: readonly PullRequestReport[], terminal: Terminal): string[] {
  const { paint } = terminal;
  const paints = { open: paint.cyan, merged: paint.green, closed: paint.red };
  const rows = pulls.map((pull): Cell[] => [
    `${pull.owner}/${pull.repo}#${pull.number}`,
    pull.state === null ? 'unknown' : { text: pull.state, paint: paints[pull.state] },
    pull.checks === null || pull.checks === 'none' ? '-' : pull.checks,
    pull.ended_at === null ? '-' : age(pull.ended_at, terminal.now()),
    shortRunId(pull.run_id),
    newsOf(pull),
  ]);
  return ['Pull requests of runs, as their forges report them', ...table(columns, rows, terminal), ''];
}

function newsOf({ news, before, state, problem }: PullRequestReport): string {
  if (problem !== null) return problem.gone ? 'gone' : 'not answered';
  if (!news) return '';
  return before === null || before === state ? 'news' : `was ${before}`;
}

/** Each reason once with the number of its pull requests: of those that are gone, or of those that no forge answered about. */
function problemsOf(pulls: readonly PullRequestReport[], gone: boolean): string[] {
  const problems = pulls.flatMap(({ problem }) => (problem?.gone === gone ? [problem] : []));
  return [...Map.groupBy(problems, ({ message }) => message)].map(([message, { length }]) =>
    visibleLine(length === 1 ? message : `${message} (${length} times)`),
  );
}

function contextWarnings(context: DeliveryReport | null): string[] {
  if (context === null) return [];
  const { waiting, reason, refused } = context;
  const later = 'the daemon tries each minute, and every command that follows';
  const many = `${counted(waiting.length, 'run')} ${waiting.length === 1 ? 'waits' : 'wait'}`;
  return [
    ...(waiting.length > 0
      ? [visibleLine(`${reason ?? 'core-context did not answer'}; ${many}: ${later}`)]
      : reason === null
        ? []
        : [visibleLine(reason)]),
    ...refused.map((one) => `core-context rejects ${shortRunId(one.run_id)}: ${visibleLine(one.reason)}`),
  ];
}

function contextLine(context: DeliveryReport | null): string {
  if (context === null) return 'core-context  none is configured (context.url)';
  const { delivered, waiting } = context;
  const received = `received ${delivered.length === 0 ? 'no run' : counted(delivered.length, 'run')}`;
  if (waiting.length > 0)
    return `core-context  ${received}, ${counted(waiting.length, 'run')} ${waiting.length === 1 ? 'waits' : 'wait'}`;
  return `core-context  ${delivered.length === 0 ? 'knows every run' : received}`;
}
