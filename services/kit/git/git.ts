import { type ProgramOptions, runProgram } from '../run-program.ts';
import {
  type ConfigEntry,
  type GitCredential,
  isolatedEnvironment,
  networkEnvironment,
  personalEnvironment,
  reachesRemotes,
} from './git-environment.ts';
import { gitFailure } from './git-failure.ts';

export interface GitOptions extends ProgramOptions {
  /** The repository itself; without it git looks for one from `cwd` upwards. `cwd` is this by default, else `/`, so that no repository is found by accident. */
  readonly gitDir?: string;
  /** Shows git how the person reaches remotes. Never for a repository whose configuration is not ours. */
  readonly network?: boolean;
  /** With `network`: proves who we are to its origins; null leaves it to the person's own setup. */
  readonly credential?: GitCredential | null;
  /** Exit codes besides 0 that are answers, not failures. */
  readonly accept?: readonly number[];
}

export interface GitResult {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly exitCode: number;
}

/**
 * Runs git without a shell, hardened as git-environment.ts says, in a process group of its own that `signal` ends.
 * @throws Failed `git_failed`, `git_missing` or `disk_full`; Conflict `repository_locked`; with `network` also Unavailable `remote_unavailable` and
 * Unauthorized `remote_unauthorized`; Interrupted or TimedOut when `signal` ended it
 */
export async function git(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { cwd = options.gitDir, network = false, accept = [] } = options;
  const result = await runProgram('git', args, { ...options, cwd, env: await gitEnvironment(options) });
  if (result.exitCode === null || (result.exitCode !== 0 && !accept.includes(result.exitCode))) {
    const { credential = null } = options;
    throw gitFailure(args, result.exitCode, result.stderr, network, { credential, cwd });
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
