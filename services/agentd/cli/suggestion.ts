import { shellWord } from '#kit/shell-word.ts';

/** Command lines for people to type next, as they work from where they are. */

export interface Suggestions {
  /** `./core`, `core-agentd`, or however this program was started. */
  readonly program: string;
  /** What `--home` said; undefined when it was not given. */
  readonly home: string | undefined;
}

/** Joins words to a line for a POSIX shell, with `--home` where this command had it. */
export function commandLine(suggestions: Suggestions, ...words: readonly string[]): string {
  const home = suggestions.home === undefined ? [] : ['--home', suggestions.home];
  return [suggestions.program, ...[...words, ...home].map(shellWord)].join(' ');
}

/**
 * Short enough to type and still unique: the id's time in full, 48 bits of milliseconds.
 * Two runs share it only when they were made in the same millisecond; the commands then ask for more.
 */
export function shortRunId(runId: string): string {
  return runId.slice(0, 'run_'.length + 13);
}
