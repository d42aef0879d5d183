import { Conflict } from '#kit/errors.ts';
import type { Workspace } from '../execution/vcs.ts';
import { requireAsConfigured } from './clone-check.ts';
import { gitDirOf } from './clone-folder.ts';
import { requireBranch } from './clone-state.ts';

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
