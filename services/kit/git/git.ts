import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { codeOf, Failed, messageOf } from '../errors.ts';
import { underUmask } from '../umask.ts';
import {
  type ConfigEntry,
  type GitCredential,
  isolatedEnvironment,
  networkEnvironment,
  personalEnvironment,
  reachesRemotes,
} from './git-environment.ts';
import { gitFailure, programAborted } from './git-failure.ts';

export interface GitOptions {
  /** Working folder; default `gitDir`, else `/`, so that no repository is found by accident. */
  readonly cwd?: string;
  /** The repository itself; without it git looks for one from `cwd` upwards. */
  readonly gitDir?: string;
  readonly input?: string | Uint8Array | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Shows git how the person reaches remotes. Never for a repository whose configuration is not ours. */
  readonly network?: boolean;
  /** With `network`: proves who we are to its origins; null leaves it to the person's own setup. */
  readonly credential?: GitCredential | null;
  /** Exit codes besides 0 that are answers, not failures. */
  readonly accept?: readonly number[];
  /** Notified of the process group when it starts and when it has ended. */
  readonly children?: ChildWatch | undefined;
  /** For what git writes into a folder that is not Core's; else it is private to the owner. */
  readonly umask?: number;
}

export interface ChildWatch {
  started(pid: number): void;
  ended(pid: number): void;
}

export interface GitResult {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly exitCode: number;
}

/**
 * Runs git without a shell, hardened as git-environment.ts says, in a process group of its own that `signal` ends.
 * @throws Failed `git_failed`, `git_missing` or `disk_full`; with `network` also Unavailable `remote_unavailable` and
 * Unauthorized `remote_unauthorized`; Interrupted or TimedOut when `signal` ended it
 */
export async function git(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { signal, network = false, accept = [] } = options;
  const result = await runProgram('git', args, { ...options, env: await gitEnvironment(options) });
  if (signal?.aborted) throw programAborted('git', args, signal);
  if (result.exitCode === null || (result.exitCode !== 0 && !accept.includes(result.exitCode))) {
    const { credential = null } = options;
    throw gitFailure(args, result.exitCode, result.stderr, network, { credential });
  }
  return { stdout: result.stdout, stderr: result.stderr, exitCode: result.exitCode };
}

/** The output of git as text without the last line break; for ids, names and other short answers. */
export async function gitText(args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await git(args, options)).stdout.toString('utf8').replace(/\n$/, '');
}

export async function gitEnvironment(options: GitOptions): Promise<Record<string, string>> {
  const { network = false, credential = null, gitDir, env = {} } = options;
  const base = network ? networkEnvironment(await personalSettings(), credential) : isolatedEnvironment();
  return { ...base, ...(gitDir === undefined ? {} : { GIT_DIR: gitDir }), ...env };
}

export interface ProgramOptions
  extends Pick<GitOptions, 'cwd' | 'gitDir' | 'input' | 'signal' | 'children' | 'umask'> {
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs a program with exactly this environment, in its own process group; `exitCode` is null when a signal ended it. On Node's
 * own spawn: executing a run starts dozens of programs, and a wrapper costs more than some of them.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<{ stdout: Buffer; stderr: string; exitCode: number | null }> {
  const { signal, children, cwd = options.gitDir ?? '/' } = options;
  if (signal?.aborted) throw programAborted(program, args, signal);
  const child = start(program, args, cwd, options);
  const { pid } = child;
  if (pid !== undefined) await keepTrack(child, pid, children);
  const stopAborting = pid === undefined ? undefined : endGroupOnAbort(pid, signal);
  try {
    return await outcomeOf(child, options.input);
  } catch (cause) {
    throw notStarted(program, cwd, cause);
  } finally {
    stopAborting?.();
    if (pid !== undefined) children?.ended(pid);
  }
}

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
      env: { ...options.env },
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
  } catch (cause) {
    throw notStarted(program, cwd, cause);
  }
}

/** Rejects when the program could not be started. */
function outcomeOf(
  child: ChildProcess,
  input: string | Uint8Array | undefined,
): Promise<{ stdout: Buffer; stderr: string; exitCode: number | null }> {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => chunks[name].push(chunk));
  }
  // A program that ends before it has read everything says why with its exit code.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => {
      const stderr = Buffer.concat(chunks.stderr).toString('utf8');
      resolve({ stdout: Buffer.concat(chunks.stdout), stderr, exitCode });
    });
  });
}

/** SIGTERM to the whole group, SIGKILL two seconds later to what is left of it. */
function endGroupOnAbort(pid: number, signal: AbortSignal | undefined): () => void {
  let patience: NodeJS.Timeout | undefined;
  const end = (): void => {
    killGroup(pid, 'SIGTERM');
    patience = setTimeout(() => killGroup(pid, 'SIGKILL'), 2000);
  };
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

let settings: Promise<ConfigEntry[]> | undefined;

/** The person's global settings about reaching remotes, read once. */
function personalSettings(): Promise<ConfigEntry[]> {
  settings ??= readPersonalSettings();
  return settings;
}

async function readPersonalSettings(): Promise<ConfigEntry[]> {
  const { stdout } = await runProgram('git', ['config', '--global', '--list', '-z'], {
    env: personalEnvironment(),
    cwd: '/',
  });
  return parseConfigList(stdout).filter(([key]) => reachesRemotes(key));
}

/** Reads what `git config --list -z` prints; a key without a value is `true`, as git reads it. */
export function parseConfigList(output: Buffer): ConfigEntry[] {
  return output
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n');
      return end < 0 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)];
    });
}
