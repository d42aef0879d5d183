import { CommanderError } from 'commander';
import { type OwnNames, shownConfig } from '#kit/cli/own-names.ts';
import { helpOutput, usageError } from '#kit/cli/program.ts';
import { type ReportPlace, reportError } from '#kit/cli/report-error.ts';
import { environment } from '#kit/environment.ts';
import { Conflict, exitCodes, Interrupted } from '#kit/errors.ts';
import { allCommands, createProgram, type GlobalOptions, type RunCommand } from './program.ts';
import type { Services } from './services.ts';
import { commandLine, type Suggestions, shortRunId } from './suggestions.ts';
import { createTerminal, type Stream, type Terminal } from './terminal.ts';

/** How a command line is started: by `./core`, by `core-agentd`, or by a test. */
export interface CommandLineOptions {
  /** Arguments after the program's name. */
  readonly args: readonly string[];
  /** How people call this program, for the commands that are suggested. */
  readonly program: string;
  readonly version: string;
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** Opens the services for a `--home`. */
  readonly open: (options: {
    readonly home: string | undefined;
    readonly warn: (message: string) => void;
  }) => Promise<Services>;
}

/** Runs one command line to its end and gives its exit code. The process is the caller's to end. */
export async function runCommandLine(options: CommandLineOptions): Promise<number> {
  const { args, program: name, stdout, stderr } = options;
  const early = globalsOf(args);
  const names = { program: name, config: shownConfig(args) };
  const terminal = createTerminal({
    stdout,
    stderr,
    color: early.color,
    ascii: early.ascii === true,
    environment,
    names,
  });
  const place = placeOf(names, terminal, early);
  let exitCode: number = exitCodes.done;

  const program = await createProgram(
    {
      name,
      version: options.version,
      run: async (globals, command) => {
        exitCode = await runOne(options, names, terminal, globals, command);
      },
    },
    args,
  );
  let help = '';
  const output = {
    ...helpOutput(terminal, terminal.out),
    // Wrong usage is reported in our own form.
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
      return reportError(usageError(error, program, args), { ...place, verbose: false });
    }
    return reportError(error, place);
  }
}

async function runOne(
  { open }: CommandLineOptions,
  names: OwnNames,
  terminal: Terminal,
  globals: GlobalOptions,
  command: Parameters<RunCommand>[1],
): Promise<number> {
  const { home, json = false, verbose = false } = globals;
  const place = placeOf(names, terminal, globals);
  const suggestions = { program: names.program, home };
  const stop = stopOnSignals(terminal);
  const { signal } = stop;
  let services: Services | null = null;
  try {
    // With --json, standard error holds nothing but an error.
    const warn = (message: string) => json || terminal.err(`warning  ${terminal.named(message)}\n`);
    services = await open({ home, warn });
    const exitCode = await command({ terminal, services, suggestions, json, verbose, signal });
    return signal.aborted && !stop.expected() ? exitCodes.interrupted : exitCode;
  } catch (error) {
    if (!signal.aborted) return reportError(withCommand(error, suggestions), place);
    const interrupted =
      error instanceof Interrupted ? error : new Interrupted('interrupted', 'stopped by you');
    await reportError(interrupted, place);
    return exitCodes.interrupted;
  } finally {
    stop.release();
    await services?.close();
  }
}

/** The error with the command that helps, as it is to be typed here. */
function withCommand(error: unknown, suggestions: Suggestions): unknown {
  if (!(error instanceof Conflict)) return error;
  const { code, message, facts, retryAfter } = error;
  const again = (hint: string, ...words: string[]) =>
    new Conflict(code, message, {
      cause: error,
      facts,
      ...(retryAfter === undefined ? {} : { retryAfter }),
      hint: `${hint}\n${commandLine(suggestions, ...words)}`,
    });
  if (code === 'lease_held') {
    const [runId] = /run_[0-9a-f-]{36}/.exec(message) ?? [];
    return runId === undefined
      ? error
      : again('Wait for it to finish, or stop it:', 'cancel', shortRunId(runId));
  }
  const { run_id, gate } = facts;
  if (code !== 'nothing_to_execute' || typeof run_id !== 'string' || typeof gate !== 'string') return error;
  return again('Approve it, then execute:', 'approve', shortRunId(run_id), '--gate', gate);
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

/** What must be known before the arguments are parsed, so that a wrong argument is reported in the right form. */
function globalsOf(args: readonly string[]): GlobalOptions {
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined);
  return {
    json: flags.includes('--json'),
    verbose: flags.includes('--verbose'),
    color: !flags.includes('--no-color'),
    ascii: flags.includes('--ascii'),
  };
}

/** Where errors are reported: standard error. */
function placeOf(
  names: OwnNames,
  terminal: Terminal,
  { json, verbose }: Partial<GlobalOptions>,
): ReportPlace {
  return {
    ...names,
    json: json === true,
    verbose: verbose === true,
    paint: terminal.paintErr,
    display: { width: terminal.errWidth, symbols: terminal.symbols },
    write: terminal.errRaw,
  };
}
