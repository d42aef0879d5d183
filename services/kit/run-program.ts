import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { guarded } from './callbacks.ts';
import { environment } from './environment.ts';
import { type CoreError, codeOf, Failed, Interrupted, messageOf, TimedOut } from './errors.ts';
import { underUmask } from './umask.ts';

/** Notified of a process group when it starts and when it has ended. */
export interface ChildWatch {
  started(pid: number): void;
  ended(pid: number): void;
}

export interface ProgramOptions {
  /** Default `/`. */
  readonly cwd?: string | undefined;
  readonly input?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly children?: ChildWatch | undefined;
  readonly umask?: number | undefined;
  /** The whole environment; default PATH, and messages in English. */
  readonly env?: Readonly<Record<string, string>>;
}

interface ProgramResult {
  readonly stdout: Buffer;
  readonly stderr: string;
  /** null when a signal ended it. */
  readonly exitCode: number | null;
}

/**
 * Runs a program of the execution path to its end, in its own process group. On Node's own spawn, not execa: an execution starts
 * dozens of programs, and execa takes 80 ms of processor time to load and twice spawn's for each.
 * @throws Failed `<program>_missing` or `<program>_failed` where it cannot be started; Interrupted or TimedOut when `signal` ended it
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const { signal, children, cwd = '/' } = options;
  if (signal?.aborted) throw programAborted(program, args, signal);
  const child = start(program, args, cwd, options);
  const { pid } = child;
  if (pid !== undefined) await keepTrack(child, pid, children);
  const stopAborting = pid === undefined ? undefined : endGroupOnAbort(pid, signal);
  let result: ProgramResult;
  try {
    result = await outcomeOf(child, options.input);
  } catch (cause) {
    throw notStarted(program, cwd, cause);
  } finally {
    stopAborting?.();
    if (pid !== undefined) children?.ended(pid);
  }
  if (signal?.aborted) throw programAborted(program, args, signal);
  return result;
}

const plainEnvironment = {
  ...(environment.PATH === undefined ? {} : { PATH: environment.PATH }),
  LC_ALL: 'C',
};

/** A program that nobody keeps track of must not run: after a crash nobody could end it. */
async function keepTrack(child: ChildProcess, pid: number, children: ChildWatch | undefined): Promise<void> {
  try {
    children?.started(pid);
  } catch (error) {
    const ended = once(child, 'exit');
    killGroup(pid, 'SIGKILL');
    await ended;
    throw error;
  }
}

function start(program: string, args: readonly string[], cwd: string, options: ProgramOptions): ChildProcess {
  const [file, words] =
    options.umask === undefined ? [program, args] : underUmask(options.umask, program, args);
  try {
    return spawn(file, words, {
      cwd,
      env: { ...(options.env ?? plainEnvironment) },
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
  } catch (cause) {
    throw notStarted(program, cwd, cause);
  }
}

/** Rejects when the program could not be started. */
function outcomeOf(child: ChildProcess, input: string | Uint8Array | undefined): Promise<ProgramResult> {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on(
      'data',
      guarded('a program', (chunk: Buffer) => chunks[name].push(chunk)),
    );
  }
  // A program that ends before it has read everything says why with its exit code.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once(
      'close',
      guarded(
        'a program',
        (exitCode) => {
          const stderr = Buffer.concat(chunks.stderr).toString('utf8');
          resolve({ stdout: Buffer.concat(chunks.stdout), stderr, exitCode });
        },
        reject,
      ),
    );
  });
}

/** SIGTERM to the whole group, SIGKILL two seconds later to what is left of it. */
function endGroupOnAbort(pid: number, signal: AbortSignal | undefined): () => void {
  let patience: NodeJS.Timeout | undefined;
  const end = guarded('a program', (): void => {
    killGroup(pid, 'SIGTERM');
    patience = setTimeout(
      guarded('a program', () => killGroup(pid, 'SIGKILL')),
      2000,
    );
  });
  signal?.addEventListener('abort', end, { once: true });
  return () => {
    signal?.removeEventListener('abort', end);
    if (patience === undefined) return;
    clearTimeout(patience);
    killGroup(pid, 'SIGKILL');
  };
}

/** Signals a process group; false when there is none. */
export function killGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    return false;
  }
}

function notStarted(program: string, cwd: string, cause: unknown): Failed {
  return codeOf(cause) === 'ENOENT'
    ? new Failed(`${program}_missing`, `${program} cannot be started: not on PATH, or no folder '${cwd}'`, {
        cause,
        hint: `install ${program}, then try again`,
      })
    : new Failed(`${program}_failed`, `${program} cannot be started: ${messageOf(cause)}`, { cause });
}

function programAborted(program: string, args: readonly string[], signal: AbortSignal): CoreError {
  const command = `${program} ${args[0] ?? ''}`;
  if (signal.reason instanceof Error && signal.reason.name === 'TimeoutError') {
    return new TimedOut(`${program}_timeout`, `${command} took too long`, { cause: signal.reason });
  }
  return new Interrupted('interrupted', `${command} was cancelled`, { cause: signal.reason });
}
