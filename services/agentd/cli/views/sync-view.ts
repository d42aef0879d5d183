import { age } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { DeliveryReport, PullRequestReport, SyncReport } from '../../agent.ts';
import { type Cell, table } from '../layout.ts';
import { commandLine, type Suggestions, shortRunId } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';

/** What the forges said about the pull requests of runs, and what the context service was told. */
export function syncView(
  { pull_requests, context }: SyncReport,
  terminal: Terminal,
  suggestions: Suggestions,
): string {
  const lines =
    pull_requests.length === 0
      ? ['No run has a pull request yet.']
      : pullRequestLines(pull_requests, terminal);
  lines.push(contextLine(context));
  if (pull_requests.length === 0)
    lines.push(`  runs     ${terminal.paint.cyan(commandLine(suggestions, 'runs'))}`);
  return `${lines.join('\n')}\n`;
}

function pullRequestLines(pulls: readonly PullRequestReport[], terminal: Terminal): string[] {
  const { paint, symbols } = terminal;
  const header = ['pull request', 'state', 'checks', 'ended', 'run', ''].map(
    (text): Cell => ({ text, paint: paint.dim }),
  );
  const paints = { open: paint.cyan, merged: paint.green, closed: paint.red };
  const rows = pulls.map((pull): Cell[] => [
    { text: visibleLine(`${pull.owner}/${pull.repo}#${pull.number}`) },
    pull.state === null ? { text: 'unknown' } : { text: pull.state, paint: paints[pull.state] },
    { text: pull.checks === null || pull.checks === 'none' ? '-' : pull.checks },
    { text: pull.ended_at === null ? '-' : age(pull.ended_at, terminal.now()) },
    { text: shortRunId(pull.run_id) },
    { text: newsOf(pull) },
  ]);
  const options = { indent: 2, gap: 2, width: terminal.width, ellipsis: symbols.ellipsis };
  return ['What the forges say of the pull requests of runs', ...table([header, ...rows], options), ''];
}

function newsOf({ news, before, state, problem }: PullRequestReport): string {
  if (problem !== null) return problem.gone ? 'gone' : 'not answered';
  if (!news) return '';
  return before === null || before === state ? 'news' : `was ${before}`;
}

/** What forges did not answer, each reason once with how many pull requests it is about. */
export function syncFailures({ pull_requests }: SyncReport): string[] {
  return problemsOf(pull_requests.filter(({ problem }) => problem?.gone === false));
}

/** What is not as it should be although every forge answered: pull requests that are gone, runs that core-context lacks. */
export function syncWarnings({ pull_requests, context }: SyncReport): string[] {
  const warnings = problemsOf(pull_requests.filter(({ problem }) => problem?.gone === true));
  if (context === null) return warnings;
  const { waiting, reason, refused } = context;
  if (waiting.length > 0) {
    const later = 'the daemon tries each minute, and every command that follows';
    const many = waiting.length === 1 ? '1 run waits' : `${waiting.length} runs wait`;
    warnings.push(visibleLine(`${reason ?? 'core-context did not answer'}; ${many}: ${later}`));
  } else if (reason !== null) warnings.push(visibleLine(reason));
  for (const one of refused)
    warnings.push(`core-context does not take ${shortRunId(one.run_id)}: ${visibleLine(one.reason)}`);
  return warnings;
}

function problemsOf(pulls: readonly PullRequestReport[]): string[] {
  const counts = new Map<string, number>();
  for (const { problem } of pulls)
    if (problem !== null) counts.set(problem.message, (counts.get(problem.message) ?? 0) + 1);
  return [...counts].map(([message, count]) =>
    visibleLine(count === 1 ? message : `${message} (${count} times)`),
  );
}

function contextLine(context: DeliveryReport | null): string {
  if (context === null) return 'core-context  none is configured (context.url)';
  const { delivered, waiting } = context;
  if (waiting.length === 0)
    return `core-context  ${delivered.length === 0 ? 'knows every run' : `was told of ${runs(delivered.length)}`}`;
  return `core-context  ${delivered.length === 0 ? 'was told of no run' : `was told of ${runs(delivered.length)}`}, ${runs(waiting.length)} ${waiting.length === 1 ? 'waits' : 'wait'}`;
}

function runs(count: number): string {
  return count === 1 ? '1 run' : `${count} runs`;
}
