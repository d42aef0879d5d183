import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type CoreError, Failed } from '#kit/errors.ts';
import { type ChildWatch, runProgram } from '#kit/git/git.ts';
import { type GitCredential, isolatedEnvironment } from '#kit/git/git-environment.ts';
import { gitFailure, programAborted, withoutUrlSecrets } from '#kit/git/git-failure.ts';
import type { Author } from '../../action.ts';

export const testedVersion = '0.41.0';

/** Given with every command, where they win over any file. */
const settings = [
  'ui.editor=["false"]',
  'ui.paginate="never"',
  'snapshot.auto-track="none()"',
  'snapshot.max-new-file-size="1TiB"',
  'git.abandon-unreachable-commits=false',
  'git.auto-local-bookmark=false',
  'git.colocate=true',
  'git.executable-path="git"',
  'git.write-change-id-header=true',
  'working-copy.eol-conversion="none"',
  'signing.behavior="drop"',
  'fsmonitor.backend="none"',
  'operation.hostname="core"',
  'operation.username="core"',
].map((setting) => `--config=${setting}`);

export interface JjOptions {
  readonly input?: string;
  /** Who and when, for commands that write commits. */
  readonly as?: { readonly author: Author; readonly at: string };
  /** Makes new change ids repeatable. Never the same for two commands that make one. */
  readonly seed?: string;
  /** Instead of an environment without network. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly accept?: readonly number[];
  readonly signal?: AbortSignal;
  readonly children?: ChildWatch;
}

export interface JjResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Runs jj in a clone, with no configuration but ours. @throws Failed `vcs_failed`, `jj_missing` */
export async function jj(
  folder: string,
  args: readonly string[],
  options: JjOptions = {},
): Promise<JjResult> {
  const { signal, children, accept = [] } = options;
  const result = await runProgram('jj', ['--no-pager', '--color=never', ...settings, ...args], {
    cwd: folder,
    env: jjEnvironment(folder, options),
    ...(options.input === undefined ? {} : { input: options.input }),
    ...(signal === undefined ? {} : { signal }),
    ...(children === undefined ? {} : { children }),
  });
  if (signal?.aborted) throw programAborted('jj', args, signal);
  const { exitCode, stderr } = result;
  if (exitCode === null || (exitCode !== 0 && !accept.includes(exitCode)))
    throw jjFailure(args, exitCode, stderr);
  return { stdout: result.stdout.toString('utf8'), stderr, exitCode };
}

export function jjFailure(
  args: readonly string[],
  exitCode: number | null,
  stderr: string,
  credential: GitCredential | null = null,
): CoreError {
  const name = args
    .filter((arg) => !arg.startsWith('-'))
    .slice(0, 2)
    .join(' ');
  const known = gitFailure([name], exitCode, stderr, args.includes('push'), {
    program: 'jj',
    credential,
  });
  if (known.code !== 'git_failed') return known;
  const words = withoutUrlSecrets(stderr).trim().slice(0, 2000);
  return new Failed('vcs_failed', `jj ${name} ended with ${exitCode ?? 'a signal'}: ${words}`, {
    facts: { args: args.map(withoutUrlSecrets), exit_code: exitCode },
  });
}

function jjEnvironment(folder: string, { as, seed, environment }: JjOptions): Record<string, string> {
  return {
    ...(environment ?? isolatedEnvironment()),
    JJ_CONFIG: '/dev/null',
    XDG_CONFIG_HOME: join(folder, '.git', 'core'),
    JJ_USER: as?.author.name ?? 'Core',
    JJ_EMAIL: as?.author.email ?? 'core@localhost',
    ...(as === undefined ? {} : { JJ_TIMESTAMP: new Date(as.at).toISOString() }),
    ...(seed === undefined ? {} : { JJ_RANDOMNESS_SEED: String(seedNumber(seed)) }),
  };
}

function seedNumber(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6);
}

/** The installed version; null where there is no jj. */
export async function jjVersion(): Promise<string | null> {
  try {
    const { stdout } = await runProgram('jj', ['--version'], { env: isolatedEnvironment(), cwd: '/' });
    return /^jj (\d+\.\d+\.\d+)/.exec(stdout.toString('utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
}
