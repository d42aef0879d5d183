import type { GitCredential } from '#kit/git/git-environment.ts';
import type { Mirror } from '../git/mirror.ts';
import { remoteBranch } from '../git/remote.ts';
import type { Repository } from '../ports/forge.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import { actionOfKind, type Run } from '../runs/run.ts';

export type BaseSeen = DataOf<'base_seen'>;
export type LookAtBase = (run: Run, signal: AbortSignal) => Promise<BaseSeen>;

/** Where the base branch of the repository is now, and which files of the change moved there since the plan was made. */
export async function lookAtBase(
  run: Run,
  mirror: Pick<Mirror, 'update' | 'branchCommit' | 'changedPaths'>,
  { push_url }: Pick<Repository, 'push_url'>,
  credential: GitCredential | null,
  signal?: AbortSignal,
): Promise<BaseSeen> {
  const { base_branch, base_commit } = run.plan!.target;
  const still: BaseSeen = { base_branch, commit: base_commit, files: [] };
  if ((await remoteBranch(push_url, base_branch, credential, signal)) === base_commit) return still;
  await mirror.update(push_url, credential, signal);
  const commit = await mirror.branchCommit(base_branch);
  if (commit === null || commit === base_commit) return still;
  const moved = new Set(await mirror.changedPaths(base_commit, commit));
  const change = actionOfKind(run, 'apply_patch')?.definition.params.files ?? [];
  const files = change.flatMap(({ path, old_path }) => [path, old_path].filter((name) => name !== null));
  return { base_branch, commit, files: [...new Set(files)].filter((name) => moved.has(name)) };
}

/** The event for what was seen; none where that is known. */
export function baseEvents({ base_moved }: Run, seen: BaseSeen): NewEvent[] {
  const before = base_moved?.files.join('\n') ?? '';
  const same = before === seen.files.join('\n') && (base_moved === null || base_moved.commit === seen.commit);
  return same ? [] : [{ type: 'base_seen', data: seen }];
}
