import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CoreError, Failed, InvalidInput, NotFound } from '#kit/errors.ts';
import { type GitOptions, git } from '#kit/git/git.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { mirrorFolder } from '#kit/git/mirror-folder.ts';
import { hasObject, lookUp } from '#kit/git/objects.ts';
import { differenceBetween, resolve } from '#kit/git/tree.ts';
import { checkRemoteUrl, clearStaleLock, reading } from './remote.ts';
import { refObject } from './tree.ts';

/** Our bare copy of one forge repository. Can be deleted at any time: `update` makes it again. */
export interface Mirror {
  readonly dir: string;
  /**
   * Fetches all branches, and forgets those that are gone.
   * @throws Unavailable `remote_unavailable`, Unauthorized `remote_unauthorized`
   */
  update(url: string, credential: GitCredential | null, signal?: AbortSignal): Promise<void>;
  branchCommit(branch: string): Promise<string | null>;
  has(objectId: string): Promise<boolean>;
  /** What is here of a run, in one question: the commit that is pinned for it, and which of these objects. */
  holdings(
    runId: string,
    objectIds: readonly string[],
  ): Promise<{ readonly pinned: string | null; readonly present: ReadonlySet<string> }>;
  /** Keeps a run's base reachable. @throws NotFound `commit_not_found` */
  pin(runId: string, commit: string): Promise<void>;
  /** Paths that differ between two commits. */
  changedPaths(from: string, to: string): Promise<string[]>;
}

export interface MirrorName {
  readonly stateDir: string;
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
}

/** Opens the mirror, an empty one at first. Several processes may do so, and update it, at once. */
export async function openMirror({ stateDir, forge, owner, repo }: MirrorName): Promise<Mirror> {
  for (const [what, name] of Object.entries({ forge, owner, repo })) checkName(what, name);
  const dir = mirrorFolder(stateDir, `${forge}/${owner}/${repo}`);
  await initialise(dir, 'sha1');
  return {
    dir,
    update: (url, credential, signal) => update(dir, url, credential, signal),
    branchCommit: (branch) => refObject(dir, `refs/heads/${branch}`),
    has: (objectId) => hasObject(dir, objectId),
    async holdings(runId, objectIds) {
      const [pinned = null, ...found] = await lookUp(dir, [pinRef(runId), ...objectIds]);
      return { pinned, present: new Set(found.filter((id) => id !== null)) };
    },
    async pin(runId, commit) {
      try {
        await git(['update-ref', '--no-deref', pinRef(runId), commit], { gitDir: dir });
      } catch (error) {
        if ((await resolve(dir, `${commit}^{commit}`)) !== null) throw error;
        throw new NotFound('commit_not_found', `the mirror ${dir} has no commit ${commit}`);
      }
    },
    async changedPaths(from, to) {
      const { changed, deleted } = await differenceBetween(dir, from, to);
      return [...changed.map(({ path }) => path), ...deleted.map((path) => path.toString('utf8'))].sort();
    },
  };
}

/** Our bare copy of single commits of a repository, without their history. Can be deleted at any time. */
export interface CommitStore {
  readonly dir: string;
  /** True if the commit is here with all its files. */
  has(commit: string): Promise<boolean>;
  /** Fetches a commit, which no branch needs to name. @throws as `Mirror.update` */
  fetch(url: string, commit: string, credential: GitCredential | null, signal: AbortSignal): Promise<void>;
}

/** Opens the store for submodules that are commits of this repository; it need not exist. */
export function openCommitStore({ stateDir, forge, owner, repo }: MirrorName): CommitStore {
  for (const [what, name] of Object.entries({ forge, owner, repo })) checkName(what, name);
  const dir = join(stateDir, 'submodules', forge, owner, `${repo}.git`);
  return {
    dir,
    has: async (commit) =>
      existsSync(join(dir, 'HEAD')) && (await refObject(dir, commitRef(commit))) === commit,
    fetch: (url, commit, credential, signal) =>
      fetchInto(dir, url, ['--depth=1', '--', url, `+${commit}:${commitRef(commit)}`], {
        credential,
        signal,
      }),
  };
}

function commitRef(commit: string): string {
  return `refs/core/commits/${commit}`;
}

function pinRef(runId: string): string {
  checkName('run', runId);
  return `refs/core/runs/${runId}/base`;
}

function checkName(what: string, name: string): void {
  if (
    /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/.test(name) &&
    !name.includes('..') &&
    !/\.(lock|git)$/i.test(name)
  )
    return;
  throw new InvalidInput(
    'name_not_allowed',
    `${what} '${name}' must be letters, digits, '-', '_' and '.', at most 200, and not end in .git or .lock; for example koa`,
  );
}

/** Made aside and renamed, so that a crash or a second process never sees half of it. */
async function initialise(dir: string, objectFormat: string): Promise<void> {
  if (existsSync(join(dir, 'HEAD'))) return;
  const parent = dirname(dir);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const fresh = await mkdtemp(join(parent, `.${basename(dir)}-`));
  await git(['init', '-q', '--bare', '--template=', '-b', 'main', `--object-format=${objectFormat}`, fresh]);
  try {
    await rename(fresh, dir);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (existsSync(join(dir, 'HEAD'))) return;
    throw new Failed('mirror_not_writable', `the mirror ${dir} cannot be made`, { cause: error });
  }
}

async function update(
  dir: string,
  url: string,
  credential: GitCredential | null,
  signal: AbortSignal | undefined,
): Promise<void> {
  const branches = ['--update-shallow', '--prune', '--', url, '+refs/heads/*:refs/heads/*'];
  await fetchInto(dir, url, branches, { credential, signal });
}

async function fetchInto(
  dir: string,
  url: string,
  what: readonly string[],
  as: Pick<GitOptions, 'credential' | 'signal'>,
): Promise<void> {
  checkRemoteUrl(url);
  await initialise(dir, 'sha1');
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'];
  for (let attempt = 1; ; attempt++) {
    try {
      await git(['-c', 'fetch.unpackLimit=1', 'fetch', ...reading(url), ...quiet, ...what], {
        gitDir: dir,
        network: true,
        ...as,
      });
      break;
    } catch (error) {
      const words = error instanceof CoreError ? String(error.facts.stderr ?? '') : '';
      const remedy = remedies.find(({ sign }) => sign.test(words));
      if (remedy === undefined || attempt >= 20) throw error;
      await remedy.apply(dir, words);
    }
  }
}

interface Remedy {
  readonly sign: RegExp;
  readonly apply: (dir: string, words: string) => Promise<void>;
}

/** What a fetch may stumble over that is nobody's fault: another process, a crash, a damaged or unlike mirror. */
const remedies: readonly Remedy[] = [
  {
    sign: /\.lock': File exists|cannot lock ref|unable to lock|shallow file has changed/i,
    apply: waitForLocks,
  },
  { sign: /mismatched algorithms: client sha1; server sha256/, apply: (dir) => rebuild(dir, 'sha256') },
  { sign: /mismatched algorithms: client sha256; server sha1/, apply: (dir) => rebuild(dir, 'sha1') },
  {
    sign: /not a git repository: |bad object refs\/|loose object .* is corrupt|packfile .* (is corrupt|cannot be accessed)|missing blob object|missing tree object|unable to read tree|did not send all necessary objects/,
    apply: (dir) => rebuild(dir, 'sha1'),
  },
];

async function waitForLocks(dir: string, words: string): Promise<void> {
  if (!(await clearStaleLock(dir, words))) await pause(300 + Math.random() * 700);
}

async function rebuild(dir: string, objectFormat: string): Promise<void> {
  const aside = await mkdtemp(join(dirname(dir), `.${basename(dir)}-damaged-`));
  await rename(dir, join(aside, 'mirror'));
  await rm(aside, { recursive: true, force: true });
  await initialise(dir, objectFormat);
}
