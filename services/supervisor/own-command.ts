import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';

export type RunOwn = RunCommand;

/** Adds one command with its options to the parser; loaded when the command is called. */
export interface OwnCommand {
  define(program: Command, run: RunOwn): void;
}
