import { crashPoint } from '#kit/crash-point.ts';
import { Conflict } from '#kit/errors.ts';
import { pushBranch, remoteBranch } from '../git/remote.ts';
import type { Publication, PublishOutcome, Workspace } from '../ports/vcs.ts';
import { isAsConfigured, requireAsConfigured } from './clone-check.ts';
import { gitDirOf } from './clone-folder.ts';
import { requireBranch } from './clone-state.ts';
import { endLeftovers, watchChildren } from './leftovers.ts';

/** Before a push: the clone is configured as we left it, and its branch is at the commit that was approved. */
export async function requirePublishable(
  workspace: Workspace,
  branch: string,
  commit: string,
): Promise<void> {
  requireAsConfigured(workspace);
  const present = await requireBranch(gitDirOf(workspace), branch);
  if (present.commit === commit) return;
  throw new Conflict(
    'branch_differs',
    `branch ${branch} is at ${present.commit} in the clone, not at ${commit}`,
  );
}

/**
 * Deletes the remote branch while it is at our commit. By URL, so that neither tool takes it for the deletion of its own
 * branch, and also when the clone is gone or changed.
 */
export async function unpublishBranch(
  workspace: Workspace,
  { branch, commit, credential }: Publication,
  place: string,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  await endLeftovers(workspace);
  const gitDir = isAsConfigured(workspace) ? gitDirOf(workspace) : workspace.mirror_dir;
  const push = { url: workspace.push_url, branch, commit: null, expected: commit, credential };
  const outcome = await pushBranch(gitDir, push, {
    children: watchChildren(workspace),
    ...(signal === undefined ? {} : { signal }),
  });
  crashPoint(place);
  const actual = await remoteBranch(workspace.push_url, branch, credential, signal);
  if (actual === null) return { result: 'done' };
  if (outcome.result === 'rejected') return outcome;
  return { result: 'moved', actual, message: `${branch} is at ${actual} on the remote, not at ${commit}` };
}
