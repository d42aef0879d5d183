import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict, type CoreError, Failed } from '#kit/errors.ts';
import { type GitCredential, isolatedEnvironment } from '#kit/git/git-environment.ts';
import { gitFailure, withoutUrlSecrets } from '#kit/git/git-failure.ts';
import { treeOf } from '#kit/git/tree.ts';
import { type ChildWatch, runProgram } from '#kit/run-program.ts';
import type { Author } from '../../action.ts';
import type { Workspace } from '../../ports/vcs.ts';
import { gitDirOf } from '../clone-folder.ts';
import { watchChildren } from '../leftovers.ts';

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
  readonly signal?: AbortSignal | undefined;
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
  const { signal, children, input, accept = [] } = options;
  const result = await runProgram('jj', ['--no-pager', '--color=never', ...settings, ...args], {
    cwd: folder,
    env: jjEnvironment(folder, options),
    input,
    signal,
    children,
  });
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

export async function jjVersion(): Promise<string | null> {
  try {
    const { stdout } = await runProgram('jj', ['--version'], { env: isolatedEnvironment(), cwd: '/' });
    return /^jj (\d+\.\d+\.\d+)/.exec(stdout.toString('utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Runs jj in the clone, kept track of, so that nothing outlives a crash unseen. */
export function run(
  workspace: Workspace,
  args: readonly string[],
  options: JjOptions = {},
): Promise<JjResult> {
  return jj(workspace.clone_dir, args, { children: watchChildren(workspace), ...options });
}

/** From jj's own list of heads, where that is clear: asking takes as long as a whole step. */
export async function operationId(workspace: Workspace): Promise<string> {
  const heads = readdirSync(join(workspace.clone_dir, '.jj', 'repo', 'op_heads', 'heads'));
  if (heads.length === 1 && operationPattern.test(heads[0]!)) return heads[0]!;
  const { stdout } = await run(workspace, ['--at-op=@', 'op', 'log', '-n1', '--no-graph', '-T', 'id']);
  if (operationPattern.test(stdout.trim())) return stdout.trim();
  throw new Failed('vcs_failed', `jj gave '${stdout.slice(0, 200)}' for an operation id`);
}

const operationPattern = /^[0-9a-f]{128}$/;

interface WorkingCommit {
  readonly change_id: string;
  readonly commit: string;
}

export async function workingCommit(workspace: Workspace): Promise<WorkingCommit> {
  const args = [
    '--ignore-working-copy',
    'log',
    '-r',
    '@',
    '--no-graph',
    '-T',
    'change_id ++ " " ++ commit_id',
  ];
  const { stdout } = await run(workspace, args);
  const [change_id, commit] = stdout.trim().split(' ');
  if (change_id && commit) return { change_id, commit };
  throw new Failed('vcs_failed', `jj gave '${stdout.slice(0, 200)}' for its commit`);
}

export async function workingTree(workspace: Workspace): Promise<string> {
  return treeOf(gitDirOf(workspace), (await workingCommit(workspace)).commit);
}

/** The commit that an operation worked on. @throws Conflict `operation_unknown` */
export async function operationCommit(workspace: Workspace, operation: string): Promise<string> {
  const known = operationPattern.test(operation);
  const args = [`--at-op=${operation}`, 'log', '-r', '@', '--no-graph', '-T', 'commit_id'];
  const found = known ? await run(workspace, args, { accept: [1] }) : null;
  if (found?.exitCode === 0) return found.stdout.trim();
  throw new Conflict('operation_unknown', `the clone ${workspace.clone_dir} knows no operation ${operation}`);
}

export function exact(name: string): string {
  return `exact:${quoted(name)}`;
}

export function quoted(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

/** jj's words for a commit that it would make again; it refuses that. */
export const madeBefore = /commit ([0-9a-f]{40}) already exists/;

/** Takes a snapshot between the first and the last commit, at a second in which no earlier attempt took the same one. */
export async function runAtFreeTime(
  workspace: Workspace,
  args: readonly string[],
  author: Author,
): Promise<void> {
  const now = Date.now();
  for (let second = 0; ; second++) {
    const at = new Date(now - second * 1000).toISOString();
    const { exitCode, stderr } = await run(workspace, args, { as: { author, at }, accept: [255] });
    if (exitCode === 0) return;
    if (!madeBefore.test(stderr) || second === 60) throw jjFailure(args, exitCode, stderr);
  }
}
