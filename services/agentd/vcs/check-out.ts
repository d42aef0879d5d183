import { join } from 'node:path';
import { git } from '#kit/git/git.ts';
import type { Workspace } from '../execution/vcs.ts';
import { watchChildren } from './leftovers.ts';

/** Makes the work tree and the index exactly `tree`, removing what the index knows and the tree has not. */
export async function checkOut(workspace: Workspace, tree: string, folder: string): Promise<void> {
  await git(['read-tree', '-u', '--reset', tree], {
    gitDir: join(folder, '.git'),
    cwd: folder,
    env: { GIT_WORK_TREE: folder },
    children: watchChildren(workspace),
  });
}
