import type { Command } from 'commander';

/** What the commands of the supervisor share. */
export interface OwnCommandContext {
  /** How people call `./core`. */
  readonly program: string;
  readonly home: string | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
  /** false after `--no-color`. */
  readonly color: boolean;
  /** Whether standard output is a terminal that may be coloured. */
  readonly paints: boolean;
}

/** Adds one command with its options to the parser; loaded when the command is called. */
export interface OwnCommand {
  define(program: Command, run: RunOwn): void;
}

export type RunOwn = (work: (context: OwnCommandContext) => Promise<number>) => Promise<void>;
