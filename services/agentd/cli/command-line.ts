import { CommanderError } from 'commander';
import { environment } from '#kit/environment.ts';
import { exitCodes, Interrupted, InvalidInput } from '#kit/errors.ts';
import { createProgram, type GlobalOptions } from './program.ts';
import { reportError } from './report-error.ts';
import type { CommandLineOptions } from './services.ts';
import { commandLine } from './suggestion.ts';
import { createTerminal, type Terminal } from './terminal.ts';

/** Runs one command line to its end and gives its exit code. The process is the caller's to end. */
export async function runCommandLine(options: CommandLineOptions): Promise<number> {
  const { args, program: name, stdout, stderr } = options;
  const early = globalsOf(args);
  const terminal = createTerminal({ stdout, stderr, color: early.color, environment });
  let exitCode: number = exitCodes.done;

  const program = createProgram({
    name,
    version: options.version,
    run: async (globals, command) => {
      exitCode = await runOne(options, terminal, globals, command);
    },
  });
  let help = '';
  const output = {
    writeOut: terminal.out,
    // Wrong usage is told in our own form.
    writeErr: (text: string) => {
      help = text;
    },
  };
  program.configureOutput(output);
  forEachCommand(program, (command) => command.configureOutput(output).exitOverride());
  if (args.length === 0) {
    terminal.err(program.helpInformation());
    return exitCodes.usage;
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.done;
      if (error.code === 'commander.help') {
        terminal.err(help);
        return exitCodes.usage;
      }
      return reportError(usageError(error, name, args), terminal, early.json === true, false);
    }
    return reportError(error, terminal, early.json === true, early.verbose === true);
  }
}

async function runOne(
  options: CommandLineOptions,
  terminal: Terminal,
  globals: GlobalOptions,
  command: Parameters<Parameters<typeof createProgram>[0]['run']>[1],
): Promise<number> {
  const verbose = globals.verbose === true;
  const services = options.open({ home: globals.home, verbose });
  const stop = stopOnSignals(terminal);
  try {
    const exitCode = await command({
      terminal,
      services,
      suggestions: { program: options.program, home: globals.home },
      json: globals.json === true,
      verbose,
      signal: stop.signal,
    });
    return stop.signal.aborted && !stop.expected() ? exitCodes.interrupted : exitCode;
  } catch (error) {
    if (stop.signal.aborted) {
      reportError(
        error instanceof Interrupted ? error : new Interrupted('interrupted', 'stopped by you'),
        terminal,
        globals.json === true,
        verbose,
      );
      return exitCodes.interrupted;
    }
    return reportError(error, terminal, globals.json === true, verbose);
  } finally {
    stop.release();
    await services.close();
  }
}

/** The first Ctrl-C asks to stop, the second ends the process at once. SIGTERM asks as well, and is no failure. */
function stopOnSignals(terminal: Terminal) {
  const controller = new AbortController();
  let terminated = false;
  function interrupt(): void {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    terminal.err('\nStopping. Ctrl-C again ends at once.\n');
    controller.abort(new Interrupted('interrupted', 'stopped by you'));
  }
  function terminate(): void {
    terminated = true;
    controller.abort(new Interrupted('interrupted', 'stopped by a signal'));
  }
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', terminate);
  return {
    signal: controller.signal,
    expected: () => terminated,
    release: () => {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', terminate);
    },
  };
}

/** What must be known before the arguments are parsed, so that a wrong argument is told in the right form. */
function globalsOf(args: readonly string[]): GlobalOptions {
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined);
  return {
    json: flags.includes('--json'),
    verbose: flags.includes('--verbose'),
    color: !flags.includes('--no-color'),
  };
}

function usageError(error: CommanderError, name: string, args: readonly string[]): InvalidInput {
  const command = args.find((word) => /^[a-z]/.test(word));
  const message = error.message.replace(/^error: /, '').replace(/\n\((Did you mean .*)\)$/, '. $1');
  const help = commandLine(
    { program: name, home: undefined },
    ...(command === undefined || error.code === 'commander.unknownCommand'
      ? ['--help']
      : [command, '--help']),
  );
  return new InvalidInput('usage', message, { hint: help });
}

function forEachCommand(
  program: ReturnType<typeof createProgram>,
  visit: (command: ReturnType<typeof createProgram>) => void,
): void {
  for (const command of program.commands) {
    visit(command);
    forEachCommand(command, visit);
  }
}
