import { CommanderError } from 'commander';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { environment } from '#kit/environment.ts';
import { Conflict, CoreError, exitCodes, Interrupted, InvalidInput, messageOf } from '#kit/errors.ts';
import { allCommands, createProgram, type GlobalOptions, type RunCommand } from './program.ts';
import type { Services } from './services.ts';
import { createTerminal, type Stream, type Terminal } from './terminal.ts';
import { commandLine, type Suggestions, shortRunId } from './views/next-steps.ts';

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
  readonly open: (options: { readonly home: string | undefined }) => Services;
}

/** Runs one command line to its end and gives its exit code. The process is the caller's to end. */
export async function runCommandLine(options: CommandLineOptions): Promise<number> {
  const { args, program: name, stdout, stderr } = options;
  const early = globalsOf(args);
  const terminal = createTerminal({
    stdout,
    stderr,
    color: early.color,
    ascii: early.ascii === true,
    environment,
  });
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
      return reportError(usageError(error, name, args), terminal, early.json === true, false);
    }
    return reportError(error, terminal, early.json === true, early.verbose === true);
  }
}

async function runOne(
  { program, open }: CommandLineOptions,
  terminal: Terminal,
  globals: GlobalOptions,
  command: Parameters<RunCommand>[1],
): Promise<number> {
  const { home, json = false, verbose = false } = globals;
  const services = open({ home });
  const suggestions = { program, home };
  const stop = stopOnSignals(terminal);
  const { signal } = stop;
  try {
    const exitCode = await command({ terminal, services, suggestions, json, verbose, signal });
    return signal.aborted && !stop.expected() ? exitCodes.interrupted : exitCode;
  } catch (error) {
    if (!signal.aborted) return reportError(withCommand(error, suggestions), terminal, json, verbose);
    const interrupted =
      error instanceof Interrupted ? error : new Interrupted('interrupted', 'stopped by you');
    await reportError(interrupted, terminal, json, verbose);
    return exitCodes.interrupted;
  } finally {
    stop.release();
    await services.close();
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

/**
 * Reports a failure without secrets: one line, then why, then what to do.
 * @param verbose shows the whole stack of an unexpected error
 * @returns the exit code
 */
async function reportError(
  error: unknown,
  terminal: Terminal,
  json: boolean,
  verbose: boolean,
): Promise<number> {
  const { Redactor } = await import('#kit/redaction/redactor.ts');
  const redactor = new Redactor();
  if (json) terminal.err(`${JSON.stringify(redactor.redactDeep(errorJson(error)))}\n`);
  else terminal.err(redactor.redact(`${errorLines(error, terminal, verbose).join('\n')}\n`));
  return error instanceof CoreError ? error.exitCode : exitCodes.failed;
}

/** The shape of a failure for machines; `code` is stable. */
function errorJson(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof CoreError)) {
    return { error: { code: 'internal', message: messageOf(error), exit_code: exitCodes.failed } };
  }
  const { code, message, exitCode, hint, errors, retryAfter } = error;
  return {
    error: {
      code,
      message,
      exit_code: exitCode,
      ...(hint === undefined ? {} : { hint }),
      ...(errors.length === 0 ? {} : { errors }),
      ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    },
  };
}

function errorLines(error: unknown, terminal: Terminal, verbose: boolean): string[] {
  const { paintErr } = terminal;
  const [first = '', ...rest] = visibleLines(messageOf(error)).trimEnd().split('\n');
  const label = error instanceof CoreError && error.exitCode === exitCodes.refused ? 'refused' : 'error';
  const code = error instanceof CoreError ? `  ${paintErr.dim(`[${error.code}]`)}` : '';
  const lines = [`${paintErr.red(paintErr.bold(label))}  ${first}${code}`];
  for (const line of rest) lines.push(`       ${line}`);
  if (!(error instanceof CoreError)) {
    lines.push('       This was not foreseen. Please report it, with the lines below.');
    const stack = error instanceof Error ? error.stack?.split('\n').slice(1, verbose ? undefined : 4) : [];
    for (const line of stack ?? []) lines.push(`       ${paintErr.dim(visibleLine(line.trim()))}`);
    return lines;
  }
  if (error.errors.length > 1) {
    for (const { pointer, detail } of error.errors)
      lines.push(`       ${visibleLine(pointer || '/')}  ${visibleLine(detail)}`);
  }
  const cause = verbose && error.cause !== undefined ? messageOf(error.cause) : '';
  if (cause !== '' && cause !== error.message)
    lines.push(`  why  ${visibleLines(cause).replaceAll('\n', '\n       ')}`);
  if (error.retryAfter !== undefined) lines.push(`  wait ${error.retryAfter} s before trying again`);
  if (error.hint !== undefined)
    lines.push(`   do  ${visibleLines(error.hint).replaceAll('\n', '\n       ')}`);
  return lines;
}
