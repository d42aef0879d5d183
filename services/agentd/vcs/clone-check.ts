import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict } from '#kit/errors.ts';
import type { Workspace } from '../ports/vcs.ts';
import { attributesText, type CloneKind, configText, gitDirOf } from './clone-folder.ts';

/**
 * A clone's configuration decides where a push goes and which programs run. Neither git nor jj changes it as we use them, so
 * any difference from what we wrote is somebody else's. @returns whether there is a clone, configured as we made it
 */
export function isAsConfigured(workspace: Workspace): boolean {
  const gitDir = gitDirOf(workspace);
  return (
    isFolder(workspace.clone_dir) &&
    isFolder(gitDir) &&
    kinds.some((kind) => holds(join(gitDir, 'config'), configText(workspace, kind))) &&
    holds(join(gitDir, 'info', 'attributes'), attributesText) &&
    // Would put another repository, or more configuration, in the place of this one.
    !names(gitDir).some((name) => name === 'commondir' || name === 'config.worktree') &&
    // The configuration home of jj and of the gits that it starts.
    names(join(gitDir, 'core')).length === 0 &&
    isJujutsuAsConfigured(join(workspace.clone_dir, '.jj'))
  );
}

const kinds: readonly CloneKind[] = ['bare', 'files'];

function isJujutsuAsConfigured(folder: string): boolean {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return true;
  const repo = join(folder, 'repo');
  const store = join(repo, 'store');
  return (
    [folder, repo, store].every(isFolder) &&
    holds(join(store, 'git_target'), '../../../.git') &&
    ![...names(folder), ...names(repo)].some((name) => name.includes('config'))
  );
}

/** Deletes a clone that is not as we configured it; it is made again from the record, which loses nothing. */
export function discardUnlessAsConfigured(workspace: Workspace): void {
  if (!isAsConfigured(workspace)) rmSync(workspace.clone_dir, { recursive: true, force: true });
}

/** @throws Conflict `clone_changed`, with the clone deleted */
export function requireAsConfigured(workspace: Workspace): void {
  if (isAsConfigured(workspace)) return;
  discardUnlessAsConfigured(workspace);
  throw new Conflict(
    'clone_changed',
    `the configuration of the clone ${workspace.clone_dir} is not the one that was written there; the clone was deleted`,
    { hint: 'run it again: the clone is made anew from the record' },
  );
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function names(folder: string): string[] {
  return isFolder(folder) ? readdirSync(folder) : [];
}

function holds(path: string, text: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true && readFileSync(path, 'utf8') === text;
}
