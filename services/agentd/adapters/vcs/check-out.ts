import { join } from 'node:path';
import type { Workspace } from '../../execution/vcs.ts';
import { git } from '../../git/git.ts';
import { watchChildren } from './leftovers.ts';

/** Makes the work tree and the index exactly `tree`, removing what the index knows and the tree has not. */
export async function checkOut(
  workspace: Workspace,
  tree: string,
  folder: string = workspace.clone_dir,
): Promise<void> {
  await inWorkTree(workspace, folder, ['read-tree', '-u', '--reset', tree]);
}

/** Runs git on the files of a clone, kept track of. */
export async function inWorkTree(
  workspace: Workspace,
  folder: string,
  args: readonly string[],
): Promise<void> {
  const env = { GIT_WORK_TREE: folder };
  await git(args, { gitDir: join(folder, '.git'), cwd: folder, env, children: watchChildren(workspace) });
}
