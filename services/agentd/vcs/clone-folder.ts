import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Conflict, codeOf } from '#kit/errors.ts';
import { isLocalRemote, otherEnd } from '#kit/git/git-environment.ts';
import { makeSpreadFolder } from '#kit/spread-folder.ts';
import type { Workspace } from '../ports/vcs.ts';

/** `bare` has git's objects and refs alone; `files` is for a work tree beside them. */
export type CloneKind = 'bare' | 'files';

export function gitDirOf(workspace: Workspace): string {
  return join(workspace.clone_dir, '.git');
}

/**
 * Makes the clone aside, lets `finish` complete it there, and renames it into place: it is there whole or not at all. It
 * holds the base commit and what is behind it as `origin/<base branch>`, and no other ref. Object files are linked from
 * the mirror; git never changes one, and a deleted mirror takes nothing away.
 */
export async function makeClone(
  workspace: Workspace,
  kind: CloneKind,
  finish: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = `${workspace.clone_dir}.making`;
  rmSync(folder, { recursive: true, force: true });
  await makeSpreadFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
  writeGitDir(join(folder, '.git'), workspace, kind);
  await finish(folder);
  renameSync(folder, workspace.clone_dir);
}

function writeGitDir(gitDir: string, workspace: Workspace, kind: CloneKind): void {
  for (const part of ['refs/heads', 'info', 'core']) mkdirSync(join(gitDir, part), { recursive: true });
  linkFolder(join(workspace.mirror_dir, 'objects'), join(gitDir, 'objects'));
  const shallow = join(workspace.mirror_dir, 'shallow');
  if (existsSync(shallow)) copyFileSync(shallow, join(gitDir, 'shallow'));
  writeFileSync(join(gitDir, 'HEAD'), `${workspace.base_commit}\n`);
  writeFileSync(join(gitDir, 'config'), configText(workspace, kind));
  writeFileSync(
    join(gitDir, 'packed-refs'),
    `# pack-refs with: sorted \n${workspace.base_commit} refs/remotes/origin/${workspace.base_branch}\n`,
  );
  writeFileSync(join(gitDir, 'info', 'attributes'), attributesText);
}

/** Files are written as they are recorded, whatever the tree's own attributes say. */
const attributesText = '* -text -filter -ident -working-tree-encoding\n';

function configText({ base_commit, push_url }: Workspace, kind: CloneKind): string {
  const sha256 = base_commit.length === 64;
  return [
    '[core]',
    `\trepositoryformatversion = ${sha256 ? 1 : 0}`,
    '\tfilemode = true',
    `\tbare = ${kind === 'bare'}`,
    ...(sha256 ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[remote "origin"]',
    `\turl = "${quoted(push_url)}"`,
    ...(isLocalRemote(push_url)
      ? [
          `\treceivepack = "${quoted(otherEnd('receive-pack'))}"`,
          `\tuploadpack = "${quoted(otherEnd('upload-pack'))}"`,
        ]
      : []),
    '\tfetch = "+refs/heads/*:refs/remotes/origin/*"',
    '',
  ].join('\n');
}

function quoted(value: string): string {
  return value.replace(/[\\"]/g, '\\$&');
}

function linkFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) linkFolder(source, target);
    else if (!/^tmp_|\.(lock|tmp)$/.test(entry.name)) linkFile(source, target);
  }
}

function linkFile(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    copyFileSync(source, target);
  }
}

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
    { hint: 'run it again: the clone is rebuilt from the record' },
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
