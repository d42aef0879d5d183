import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict, Failed } from '#kit/errors.ts';
import { treeOf } from '#kit/git/tree.ts';
import type { Author } from '../../action.ts';
import type { Workspace } from '../../ports/vcs.ts';
import { gitDirOf } from '../clone-folder.ts';
import { watchChildren } from '../leftovers.ts';
import { type JjOptions, type JjResult, jj, jjFailure } from './jj.ts';

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

export interface WorkingCommit {
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
