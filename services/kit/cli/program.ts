import { type Command, CommanderError, type OutputConfiguration } from 'commander';
import { environment } from '../environment.ts';
import { exitCodes, InvalidInput } from '../errors.ts';
import { CoreCommand } from './core-command.ts';
import { type Display, displayOf } from './display.ts';
import { fitted } from './fit-text.ts';
import { asNamed, type OwnNames } from './own-names.ts';
import { reportError, reportPlace } from './report-error.ts';

/** What every command is given. */
export interface CommandContext {
  /** How people call the program. */
  readonly program: string;
  readonly home: string | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
  /** false after `--no-color`. */
  readonly color: boolean;
  /** Whether standard output is a terminal that may be coloured. */
  readonly paints: boolean;
  /** Of standard output. */
  readonly display: Display;
  /** A text of Core with its own names as they are here. */
  named(text: string): string;
}

/** Runs one command's work with its context; its result is the exit code. */
export type RunCommand = (work: (context: CommandContext) => Promise<number>) => Promise<void>;

export interface ProgramOptions {
  readonly args: readonly string[];
  /** How people call the program. */
  readonly name: string;
  readonly description?: string;
  /** Adds commands with their options to the parser. */
  readonly define: (program: Command, run: RunCommand) => void;
}

/** How `./core` and a service's own command start its program. */
export interface ProgramStart {
  readonly args: readonly string[];
  /** How people call the program. */
  readonly program: string;
  readonly version: string;
  /** Is handed the parser, and nothing is run: for whoever documents the commands. */
  readonly declared?: (program: Command) => void;
}

/** The program of one service: what it says of itself, and its commands group by group. */
export interface ServiceProgram {
  readonly description: string;
  readonly groups: readonly Pick<ProgramOptions, 'define'>[];
}

/** Runs one command line of a service to its end and gives its exit code. */
export function runServiceProgram(
  { args, program: name, version, declared }: ProgramStart,
  { description, groups }: ServiceProgram,
): Promise<number> {
  const options: Omit<ProgramOptions, 'args'> = {
    name,
    description,
    define(program, run) {
      program.version(version, '--version');
      for (const group of groups) group.define(program, run);
    },
  };
  if (declared === undefined) return runProgram({ args, ...options });
  declared(declareProgram(options, () => Promise.resolve()));
  return Promise.resolve(exitCodes.done);
}

/** The commands of a program with their options, before one is run. */
export function declareProgram(
  { name, description, define }: Omit<ProgramOptions, 'args'>,
  run: RunCommand,
): Command {
  const program = new CoreCommand(name)
    .option('--home <dir>', 'folder with state/ and config/')
    .option('--json', 'results as JSON')
    .option('--verbose', 'more of what happens, on standard error')
    .option('--no-color', 'no colours (also NO_COLOR)')
    .option('--ascii', 'no signs beyond ASCII (also a locale without UTF-8)');
  if (description !== undefined) program.description(description);
  define(program, run);
  return program;
}

/** Parses and runs one command line; reports what it throws, and gives the exit code. */
export async function runProgram({ args, ...declared }: ProgramOptions): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program: Command = declareProgram(declared, async (work) => {
    exitCode = await work(contextOf(program, place));
  });
  let help = '';
  const place = reportPlace(declared.name, args);
  const display = displayOf(process.stdout, args.includes('--ascii'), environment);
  configure(program, {
    ...helpOutput(display, (text) => void process.stdout.write(text)),
    // Wrong usage is reported in our own form, so the parser's words are kept from the terminal.
    writeErr: (text) => {
      help = text;
    },
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, place);
    if (error.exitCode === 0) return exitCodes.done;
    if (error.code === 'commander.help') {
      place.write(fitted(help, place.display));
      return exitCodes.usage;
    }
    return reportError(usageError(error, program, args), place, exitCodes.usage);
  }
}

/** Reports that the first word is no command, with the one of `names` that it is like. */
export async function reportUnknownCommand(
  args: readonly string[],
  name: string,
  names: readonly string[],
): Promise<number> {
  return runProgram({
    args,
    name,
    define(program) {
      for (const known of new Set(names)) program.command(known);
    },
  });
}

/** Wrong usage in our own form, with the help of the command that was meant: the deepest that the words name. */
export function usageError(error: CommanderError, program: Command, args: readonly string[]): InvalidInput {
  const message = error.message.replace(/^error: /, '').replace(/\n\((Did you mean .*)\)$/, '. $1');
  const named = [program.name()];
  let command = program;
  for (const word of args) {
    const found = command.commands.find((one) => one.name() === word);
    if (found === undefined) continue;
    command = found;
    named.push(word);
  }
  return new InvalidInput('usage', message, { hint: `${named.join(' ')} --help` });
}

function contextOf(program: Command, names: OwnNames): CommandContext {
  const { home, json, verbose, color, ascii } = program.opts();
  const paints = color !== false && process.stdout.isTTY === true && (environment.NO_COLOR ?? '') === '';
  return {
    program: names.program,
    home,
    json: json === true,
    verbose: verbose === true,
    color: color !== false,
    paints,
    display: displayOf(process.stdout, ascii === true, environment),
    named: (text) => asNamed(text, names),
  };
}

/** How the parser writes help: wrapped where the display ends. */
export function helpOutput(display: Display, write: (text: string) => void): OutputConfiguration {
  const width = Number.isFinite(display.width) ? { getOutHelpWidth: () => display.width } : {};
  return { ...width, writeOut: (text) => write(fitted(text, display)) };
}

function configure(command: Command, output: OutputConfiguration): void {
  command.exitOverride().configureOutput(output);
  for (const child of command.commands) configure(child, output);
}
