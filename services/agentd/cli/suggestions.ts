import { wrapCommand } from '#kit/cli/fit-text.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import type { Terminal } from './terminal.ts';

/** How people call the program, so that suggested commands work from where they are. */
export interface Suggestions {
  /** `./core`, `core-agentd`, or however this program was started. */
  readonly program: string;
  /** The value of `--home`; undefined when it was not given. */
  readonly home: string | undefined;
}

/** Joins words to a line for a POSIX shell, with `--home` where this command had it. */
export function commandLine({ program, home }: Suggestions, ...words: readonly string[]): string {
  const all = home === undefined ? words : [...words, '--home', home];
  return [program, ...all.map(shellWord)].join(' ');
}

/** The words that name an issue in a command. */
export function issueWords({ owner, repo, number }: RepositoryRef & { readonly number: number }): string[] {
  return ['--owner', owner, '--repo', repo, '--number', String(number)];
}

/**
 * Short enough to type and still unique: the id's time in full, 48 bits of milliseconds.
 * Two runs share it only when they were made in the same millisecond; the commands then ask for more.
 */
export function shortRunId(runId: string): string {
  return runId.slice(0, 'run_'.length + 13);
}

export interface NextStep {
  readonly label: string;
  readonly command: string;
}

/** Labelled command lines, two on a line where there is room. */
export function stepLines(steps: readonly NextStep[], terminal: Terminal): string[] {
  const { paint, width } = terminal;
  const labels = Math.max(...steps.map(({ label }) => label.length), 7);
  const lines: string[] = [];
  let room = 0;
  for (const { label, command } of steps) {
    const text = `${label.padEnd(labels)}  ${visibleLine(command)}`;
    const [first = '', ...rest] = commandLines(command, labels + 4, terminal);
    const painted = `${paint.dim(label.padEnd(labels))}  ${first.trimStart()}`;
    if (lines.length > 0 && text.length + 6 <= room) {
      lines.push(`${lines.pop()}      ${painted}`);
      room = 0;
    } else {
      lines.push(`  ${painted}`, ...rest);
      room = rest.length > 0 ? 0 : Math.min(width, 100) - 2 - text.length;
    }
  }
  return lines;
}

/** A command on as many lines as it needs, so that it can still be copied and typed as it stands. */
export function commandLines(
  command: string,
  indent: number,
  { paint, width }: Pick<Terminal, 'paint' | 'width'>,
): string[] {
  return wrapCommand(visibleLine(command), width - indent).map(
    (line) => `${' '.repeat(indent)}${paint.cyan(line)}`,
  );
}
