import { cut, wrapLine } from '#kit/cli/fit-text.ts';
import { duration } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { Interrupted } from '#kit/errors.ts';
import type { ProgressUpdate, Watch } from '../agent.ts';
import type { CommandContext } from './command.ts';
import { commandLine, shortRunId } from './suggestions.ts';
import type { Paint, Terminal } from './terminal.ts';

export interface Progress {
  readonly update: (update: ProgressUpdate) => void;
  /** Takes the moving line away. */
  end(): void;
}

export interface ProgressOptions {
  readonly verbose: boolean;
  /** Keeps a line for each thing that ended; false shows the moving line alone. */
  readonly lasting: boolean;
}

const clearLine = '\r\x1b[2K';

/**
 * Says on standard error what is being done now and for how long: a moving line on a terminal, and one lasting line for
 * each thing that ended.
 */
export function createProgress(terminal: Terminal, options: ProgressOptions): Progress {
  const { paintErr: paint, symbols } = terminal;
  /** Reasons that were printed, with the first step that they were of. */
  const reasons = new Map<string, string>();
  let current: { step: string; message: string; since: number } | null = null;
  let frame = 0;
  let timer: NodeJS.Timeout | undefined;

  function update(update: ProgressUpdate): void {
    const step = visibleLine(update.step);
    if (update.state === 'output') {
      said(update.message.split('\n'));
      return;
    }
    const message = visibleLine(terminal.named(update.message.trim()));
    if (update.state === 'started') {
      start(step, message);
      return;
    }
    if (update.state === 'info') {
      if (options.lasting) print(`   ${paint.dim(symbols.dot)}  ${message}`);
      return;
    }
    const since = current?.step === step ? Date.now() - current.since : undefined;
    if (!options.lasting) {
      if (current?.step === step) end();
      return;
    }
    if (current?.step === step) current = null;
    const time = update.duration_ms ?? since;
    const took = time === undefined ? '' : `  ${paint.dim(duration(time))}`;
    print(
      `   ${mark(update.state, paint, symbols)}  ${step.padEnd(17)}  ${once(update.state, step, message)}${took}`,
    );
    if (current === null) stop();
  }

  /** The reason why several steps were stopped is read once. */
  function once(state: ProgressUpdate['state'], step: string, message: string): string {
    if (state !== 'refused' && state !== 'blocked') return message;
    const first = reasons.get(message);
    if (first === undefined) reasons.set(message, step);
    return first === undefined || first === step ? message : `the same as ${first}`;
  }

  /** All lines where they are asked for, else the newest in the moving line. */
  function said(lines: readonly string[]): void {
    if (options.verbose) for (const line of lines) print(`      ${paint.dim(visibleLine(line))}`);
    const newest = lines.findLast((line) => line.trim() !== '');
    if (!options.verbose && current !== null && newest !== undefined)
      current.message = visibleLine(newest.trim());
  }

  function start(step: string, message: string): void {
    // The same step goes on with something else.
    current = { step, message, since: current?.step === step ? current.since : Date.now() };
    if (!terminal.errIsTerminal) {
      if (options.verbose) terminal.errRaw(`   ${symbols.dot}  ${step.padEnd(17)}  ${message}\n`);
      return;
    }
    timer ??= setInterval(draw, 100).unref();
    draw();
  }

  function draw(): void {
    if (current === null) return;
    const spinner = symbols.spinner[frame++ % symbols.spinner.length]!;
    const time = duration(Math.floor((Date.now() - current.since) / 100) * 100);
    const line = `   ${spinner}  ${current.step.padEnd(17)}  ${time.padEnd(7)}  ${current.message}`;
    terminal.errRaw(`${clearLine}${cut(line, terminal.errWidth - 1, symbols.ellipsis)}`);
  }

  function print(line: string): void {
    const lines = terminal.errIsTerminal ? wrapLine(line, terminal.errWidth) : [line];
    terminal.errRaw(`${terminal.errIsTerminal ? clearLine : ''}${lines.join('\n')}\n`);
    if (terminal.errIsTerminal) draw();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  function end(): void {
    stop();
    if (current !== null && terminal.errIsTerminal) terminal.errRaw(clearLine);
    current = null;
  }

  return { update, end };
}

function mark(state: ProgressUpdate['state'], paint: Paint, symbols: Terminal['symbols']): string {
  switch (state) {
    case 'succeeded':
      return paint.green(symbols.tick);
    case 'failed':
      return paint.red(symbols.cross);
    case 'refused':
    case 'blocked':
      return paint.yellow('-');
    case 'unknown':
      return paint.yellow('?');
    case 'started':
    case 'output':
    case 'info':
      return symbols.dot;
  }
}

/** Runs a long use case with its progress on standard error. */
export async function watched<T>(
  { terminal, verbose, signal }: CommandContext,
  work: (watch: Watch) => Promise<T>,
  lasting = true,
): Promise<T> {
  const progress = createProgress(terminal, { verbose, lasting });
  try {
    return await work({ progress: progress.update, signal });
  } finally {
    progress.end();
  }
}

/** Plans a run with its progress on standard error. Stopping it prints the run and how to continue it. */
export async function watchedPlanning<T>(
  context: CommandContext,
  runId: string,
  work: (watch: Watch) => Promise<T>,
): Promise<T> {
  try {
    return await watched(context, work);
  } catch (cause) {
    if (!context.signal.aborted) throw cause;
    const resume = commandLine(context.suggestions, 'resume', shortRunId(runId));
    throw new Interrupted(
      'interrupted',
      `stopped by you; run ${runId} keeps what was done, and nothing was written to the repository`,
      { cause, facts: { run_id: runId }, hint: `go on with it:\n${resume}` },
    );
  }
}
