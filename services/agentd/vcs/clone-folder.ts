import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '#kit/errors.ts';
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
  makeSpreadFolder(dirname(folder));
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
export const attributesText = '* -text -filter -ident -working-tree-encoding\n';

export function configText({ base_commit, push_url }: Workspace, kind: CloneKind): string {
  const sha256 = base_commit.length === 64;
  return [
    '[core]',
    `\trepositoryformatversion = ${sha256 ? 1 : 0}`,
    '\tfilemode = true',
    `\tbare = ${kind === 'bare'}`,
    ...(sha256 ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[remote "origin"]',
    `\turl = "${push_url.replace(/[\\"]/g, '\\$&')}"`,
    '\tfetch = "+refs/heads/*:refs/remotes/origin/*"',
    '',
  ].join('\n');
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
