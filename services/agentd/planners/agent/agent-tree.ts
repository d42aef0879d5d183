import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readTree } from '#kit/git/tree.ts';
import { shellWord } from '#kit/shell-word.ts';
import { writeBlobs } from '../../git/blobs.ts';
import { exportTree } from '../../git/export-tree.ts';
import type { GitScratchCopy } from '../../planning/scratch-copy.ts';
import { removeTree } from '../../validation/work-folder.ts';
import { contentOf, readChange } from './read-change.ts';

export interface AgentTreeOptions {
  /** Takes the change over. */
  readonly scratch: GitScratchCopy;
  /** Bare repository that holds the base commit; it is read and never written. */
  readonly mirror_dir: string;
  readonly base_commit: string;
  /** Created empty: what an interrupted planning left there is deleted. */
  readonly folder: string;
  /** Where the sandbox mounts folders, relative to the tree: nothing of them is read back. */
  readonly mounts: readonly string[];
}

/** A working folder of the base commit, for a program that nobody trusts. */
export interface AgentTree {
  /** To be the workspace of a sandbox. */
  readonly workspace: string;
  /**
   * What `sh` does inside the sandbox before the agent starts: makes a throwaway repository with one commit, because agents expect
   * one. It prints nothing, reads nothing and cannot fail.
   */
  readonly setup: string;
  /**
   * Brings what was changed into the scratch copy, after every process of the sandbox has ended. Nothing of git runs in the folder and
   * no link is followed.
   * @throws Refused (`agent_tree_refused`, `agent_tree_too_large`) naming what is no change; the scratch copy is as before
   */
  readBack(): Promise<{ readonly changed: number; readonly deleted: number }>;
  /** Removes the folder. */
  remove(): Promise<void>;
}

export async function openAgentTree(options: AgentTreeOptions): Promise<AgentTree> {
  const { scratch, mirror_dir, base_commit, folder, mounts } = options;
  await removeTree(folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const workspace = join(folder, 'workspace');
  await exportTree(mirror_dir, base_commit, workspace);
  return {
    workspace,
    setup: throwawayRepository(mounts),
    async readBack() {
      const base = await readTree(mirror_dir, base_commit);
      const { files, deleted } = await readChange({ workspace, base, mirror_dir, mounts });
      await writeBlobs(scratch.gitDir, contents(workspace, files));
      await scratch.take(files, deleted);
      return { changed: files.length, deleted: deleted.length };
    },
    remove: () => removeTree(folder),
  };
}

async function* contents(workspace: string, files: Awaited<ReturnType<typeof readChange>>['files']) {
  for (const file of files) yield await contentOf(workspace, file);
}

/**
 * What `sh` does to make a repository of one commit. The repository's own files are recorded though it ignores them; mounted folders are
 * not, though it does not ignore them.
 */
export function throwawayRepository(mounts: readonly string[]): string {
  const but = mounts.map((path) => shellWord(`:(exclude,literal)${path}`)).join(' ');
  const hidden = mounts.map((path) => shellWord(`/${path}`)).join(' ');
  return [
    '{ git init --quiet --initial-branch=main && mkdir -p .git/info',
    "printf '[user]\\n\\tname = agent\\n\\temail = agent@localhost\\n' >>.git/config",
    // The files are as recorded, whatever attributes say.
    "printf '* -text -filter -ident -working-tree-encoding\\n' >.git/info/attributes",
    ...(hidden === '' ? [] : [`printf '%s\\n' ${hidden} >>.git/info/exclude`]),
    `git add --all --force -- . ${but}`,
    'git commit --quiet --no-verify --message "Base commit"',
    '} </dev/null >/dev/null 2>&1',
  ].join('\n');
}
