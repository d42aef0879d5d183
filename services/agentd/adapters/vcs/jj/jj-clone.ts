import { Conflict, Failed } from '#kit/errors.ts';
import type { Author } from '../../../action.ts';
import type { Workspace } from '../../../execution/vcs.ts';
import { treeOf } from '../../../git/tree.ts';
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

export async function operationId(workspace: Workspace): Promise<string> {
  const { stdout } = await run(workspace, ['--at-op=@', 'op', 'log', '-n1', '--no-graph', '-T', 'id']);
  if (/^[0-9a-f]{128}$/.test(stdout.trim())) return stdout.trim();
  throw new Failed('vcs_failed', `jj gave '${stdout.slice(0, 200)}' for an operation id`);
}

export interface WorkingCommit {
  readonly change_id: string;
  readonly commit: string;
  readonly parents: readonly string[];
  readonly tree: string;
}

export async function workingCommit(workspace: Workspace): Promise<WorkingCommit> {
  const template = 'change_id ++ " " ++ commit_id ++ " " ++ parents.map(|p| p.commit_id()).join(",")';
  const { stdout } = await run(workspace, [
    '--ignore-working-copy',
    'log',
    '-r',
    '@',
    '--no-graph',
    '-T',
    template,
  ]);
  const [change_id, commit, parents] = stdout.trim().split(' ');
  if (!change_id || !commit || !parents) throw new Failed('vcs_failed', `jj gave '${stdout}' for its commit`);
  return { change_id, commit, parents: parents.split(','), tree: await treeOf(gitDirOf(workspace), commit) };
}

/** The commit that an operation worked on. @throws Conflict `operation_unknown` */
export async function operationCommit(workspace: Workspace, operation: string): Promise<string> {
  const known = /^[0-9a-f]{128}$/.test(operation);
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
