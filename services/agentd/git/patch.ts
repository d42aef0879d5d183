import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, InvalidInput } from '#kit/errors.ts';
import { git, gitText } from '#kit/git/git.ts';
import { readObject } from '#kit/git/objects.ts';
import { differenceBetween, linkMode, submoduleMode } from '#kit/git/tree.ts';
import { linkProblem, pathProblem } from './paths.ts';

const indexFolder = 'core-index-';
/** No application takes as long; an older index was left by a process that was killed. */
const maxApplicationMs = 60 * 60 * 1000;

/**
 * The tree that a patch makes of `base`, written to the repository's objects; nothing else there changes. Applied
 * whole or not at all, at the stated lines or at an offset, without fuzz.
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
export async function checkTreeChange(gitDir: string, base: string, tree: string): Promise<void> {
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
  const told = words
    .replace(/^(error|fatal): /gm, '')
    .trim()
    .split('\n')
    .slice(0, 8)
    .join('; ');
  throw new InvalidInput('patch_does_not_apply', `the patch does not apply: ${told}`, {
    facts: { git: words },
  });
}

/**
 * Why a path in a patch's headers must not be touched, or null. git checks what it strips from a header; this looks at
 * the header itself, so that an absolute path is refused and not quietly made relative.
 */
function patchPathProblem(patch: Uint8Array): string | null {
  for (const header of headerPaths(Buffer.from(patch).toString('latin1'))) {
    const path = Buffer.from(header.path, 'latin1').toString('utf8');
    if (path === '/dev/null') continue;
    if (path.startsWith('/')) return `'${path}' is absolute`;
    const problem = pathProblem(header.prefixed ? path.replace(/^[^/]*\//, '') : path);
    if (problem !== null) return `'${path}' ${problem}`;
  }
  return null;
}

interface HeaderPath {
  readonly path: string;
  /** Whether a first part such as `a/` comes before the path. */
  readonly prefixed: boolean;
}

function* headerPaths(patch: string): Generator<HeaderPath> {
  let oldLeft = 0;
  let newLeft = 0;
  for (const line of patch.split('\n')) {
    if (oldLeft > 0 || newLeft > 0) {
      if (line.startsWith('\\')) continue;
      if (!line.startsWith('+')) oldLeft--;
      if (!line.startsWith('-')) newLeft--;
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      oldLeft = Number(hunk[1] ?? 1);
      newLeft = Number(hunk[2] ?? 1);
      continue;
    }
    const file = /^(?:---|\+\+\+) (.*?)\r?$/s.exec(line);
    if (file !== null) yield { path: unquoted(file[1]!.replace(/\t.*$/s, '')), prefixed: true };
    const move = /^(?:rename|copy) (?:from|to) (.*?)\r?$/s.exec(line);
    if (move !== null) yield { path: unquoted(move[1]!), prefixed: false };
  }
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};

/** Undoes the quoting that git gives to unusual names. */
function unquoted(name: string): string {
  const quoted = /^"(.*)"/s.exec(name);
  if (quoted === null) return name;
  return quoted[1]!.replace(/\\([0-3][0-7]{2}|.)/gs, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  );
}
