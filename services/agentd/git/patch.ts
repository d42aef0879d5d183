import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, InvalidInput } from '#kit/errors.ts';
import { git, gitText } from '#kit/git/git.ts';
import { readObject } from '#kit/git/objects.ts';
import { scanPatches } from '#kit/git/patch.ts';
import { differenceBetween, linkMode, submoduleMode } from '#kit/git/tree.ts';
import { maySpellSame } from './path-spelling.ts';

const indexFolder = 'core-index-';
/** No application takes as long; an older index was left by a process that was killed. */
const maxApplicationMs = 60 * 60 * 1000;

/**
 * The tree that a patch makes of `base`, written to the repository's objects; nothing else there changes. Applied
 * whole or not at all. git may move a hunk, so the hunks must have their exact lines and git's usual context, as those of
 * `patchBetween` and of the patch planner.
 * @throws InvalidInput `patch_not_allowed` naming the path, or `patch_does_not_apply` with git's words
 */
export async function applyPatchToTree(gitDir: string, base: string, patch: Uint8Array): Promise<string> {
  refuse(patchPathProblem(patch));
  await removeLeftIndexes(gitDir);
  const folder = await mkdtemp(join(gitDir, indexFolder));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git(['read-tree', '--end-of-options', base], { gitDir, env });
    await git(['apply', '--cached', '--whitespace=nowarn', '-'], { gitDir, env, input: patch }).catch(
      explain,
    );
    const tree = await gitText(['write-tree'], { gitDir, env });
    await checkTreeChange(gitDir, base, tree);
    return tree;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function removeLeftIndexes(gitDir: string): Promise<void> {
  for (const name of await readdir(gitDir)) {
    if (!name.startsWith(indexFolder)) continue;
    const folder = join(gitDir, name);
    const made = await stat(folder).catch(() => null);
    if (made !== null && Date.now() - made.mtimeMs > maxApplicationMs) {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Refuses what no change of ours may bring into a tree: git folders, submodules, links out of it. */
async function checkTreeChange(gitDir: string, base: string, tree: string): Promise<void> {
  const { changed, deleted } = await differenceBetween(gitDir, base, tree);
  for (const { path, mode, id } of changed) {
    refuse(named(path, pathProblem(path)));
    if (mode === submoduleMode) refuse(named(path, 'is a submodule'));
    if (mode === linkMode) {
      refuse(named(path, linkProblem(path, (await readObject(gitDir, id)).toString('utf8'))));
    }
  }
  for (const path of deleted) refuse(named(path.toString('utf8'), pathProblem(path.toString('utf8'))));
}

function named(path: string, problem: string | null): string | null {
  return problem === null ? null : `'${path}' ${problem}`;
}

function refuse(problem: string | null): void {
  if (problem !== null) throw new InvalidInput('patch_not_allowed', `the patch is not allowed: ${problem}`);
}

function explain(error: unknown): never {
  if (!(error instanceof CoreError) || error.code !== 'git_failed') throw error;
  const words = String(error.facts.stderr);
  const [, path] = /invalid path '(.*)'/s.exec(words) ?? [];
  if (path !== undefined) refuse(named(path, pathProblem(path) ?? 'is not a path that git accepts'));
  const [, beyond] = /affected file '(.*)' is beyond a symbolic link/s.exec(words) ?? [];
  if (beyond !== undefined) refuse(named(beyond, 'would be written through a symbolic link'));
  const reason = words
    .replace(/^(error|fatal): /gm, '')
    .trim()
    .split('\n')
    .slice(0, 8)
    .join('; ');
  throw new InvalidInput('patch_does_not_apply', `the patch does not apply: ${reason}`, {
    facts: { git: words },
  });
}

/**
 * Why a path in a patch's headers must not be touched, or null. git checks what it strips from a header; this looks at
 * the header itself, so that an absolute path is refused and not quietly made relative.
 */
function patchPathProblem(patch: Uint8Array): string | null {
  const { files } = scanPatches(Buffer.from(patch).toString('utf8').split('\n'), 1);
  for (const { moved, named } of files) {
    const problem =
      headerProblem(named?.old ?? null, true) ??
      headerProblem(named?.new ?? null, true) ??
      headerProblem(moved.old, false) ??
      headerProblem(moved.new, false);
    if (problem !== null) return problem;
  }
  return null;
}

/** @param prefixed whether a first part such as `a/` comes before the path */
function headerProblem(path: string | null, prefixed: boolean): string | null {
  if (path === null) return null;
  if (path.startsWith('/')) return `'${path}' is absolute`;
  return named(path, pathProblem(prefixed ? path.replace(/^[^/]*\//, '') : path));
}

/**
 * Why a repository path must not be written anywhere, or null. Every spelling is refused under which some file system
 * opens `.git`: other case, NTFS short names, streams and trailing dots, characters that HFS+ ignores.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'is empty';
  if (path.includes('\0')) return 'contains a NUL character';
  if (path.startsWith('/')) return 'is absolute';
  for (const part of path.split('/')) {
    if (part === '') return 'has an empty part';
    if (part === '.' || part === '..') return `has the part '${part}'`;
  }
  if (path.split(/[/\\]/).some(opensGitFolder)) return 'names a git folder';
  return null;
}

/**
 * Why a symbolic link at `path` must not point to `target`, or null. Only leading `..` are allowed, no more than the link
 * is deep: a later `..` could go through another link and come out elsewhere.
 */
export function linkProblem(path: string, target: string): string | null {
  if (target === '' || target.includes('\0')) return 'is a link without a usable target';
  if (/^([/\\]|[a-z]:)/i.test(target)) return `is a link to the absolute path '${target}'`;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  const up = firstName < 0 ? parts.length : firstName;
  const depth = path.split('/').length - 1;
  if (up > depth || (firstName >= 0 && parts.slice(firstName).includes('..'))) {
    return `is a link out of the tree, to '${target}'`;
  }
  return parts.some(opensGitFolder) ? `is a link into a git folder, to '${target}'` : null;
}

function opensGitFolder(part: string): boolean {
  return maySpellSame(part, '.git');
}
