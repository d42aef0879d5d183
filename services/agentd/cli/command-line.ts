import { CommanderError } from 'commander';
import { environment } from '#kit/environment.ts';
import { Conflict, exitCodes, Interrupted, InvalidInput } from '#kit/errors.ts';
import { allCommands, createProgram, type GlobalOptions } from './program.ts';
import { reportError } from './report-error.ts';
import type { CommandLineOptions } from './services.ts';
import { commandLine, shortRunId } from './suggestion.ts';
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
  for (const command of allCommands(program)) command.configureOutput(output).exitOverride();
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
      await reportError(
        error instanceof Interrupted ? error : new Interrupted('interrupted', 'stopped by you'),
        terminal,
        globals.json === true,
        verbose,
      );
      return exitCodes.interrupted;
    }
    return reportError(
      stoppable(error, options.program, globals.home),
      terminal,
      globals.json === true,
      verbose,
    );
  } finally {
    stop.release();
    await services.close();
  }
}

/** Whoever meets a run at work can stop it from here. */
function stoppable(error: unknown, program: string, home: string | undefined): unknown {
  if (!(error instanceof Conflict) || error.code !== 'lease_held') return error;
  const [runId] = /run_[0-9a-f-]{36}/.exec(error.message) ?? [];
  if (runId === undefined) return error;
  const { code, message, facts, retryAfter } = error;
  const cancel = commandLine({ program, home }, 'cancel', shortRunId(runId));
  return new Conflict(code, message, {
    cause: error,
    facts,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    hint: `Wait for it to finish, or stop it:\n${cancel}`,
  });
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
