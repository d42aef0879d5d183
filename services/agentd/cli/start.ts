import { openServices } from '../main.ts';
import { runCommandLine } from './command-line.ts';

/** Starts a command line of core-agentd in this process, under the name by which a person called it. */
export function main(start: {
  readonly args: readonly string[];
  readonly program: string;
  readonly version: string;
}): Promise<number> {
  return runCommandLine({ ...start, stdout: process.stdout, stderr: process.stderr, open: openServices });
}
