import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, CoreError, codeOf, Failed, messageOf, NotFound, Refused } from '#kit/errors.ts';
import { foreignOwner } from '#kit/folders.ts';
import type { GitOptions } from '#kit/git/git.ts';
import { withoutUrlSecrets } from '#kit/git/git-failure.ts';
import type { Permit } from '#kit/permit.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { CheckoutPlace } from '../action.ts';
import {
  type Checkout,
  findCheckout,
  checkoutGit as git,
  remotesOf,
  requireOwnRepository,
  sharedGitDir,
} from '../git/checkout.ts';
import { sameRemote } from '../git/remote-address.ts';
import { refObject } from '../git/tree.ts';

/**
 * The person's own checkout. Its configuration is theirs, or hostile: nothing in it may start a program, so nothing here
 * touches its files, its index or its remotes. What changes is one ref, and the objects behind it.
 */

/** What is written there can be read by whom the rest of it can, whatever the umask of Core. */
export function writing(gitDir: string): GitOptions {
  return { gitDir, umask: ~statSync(gitDir).mode & 0o077 };
}

/**
 * The folder belongs to a git repository that this process can write to, one of whose remotes is the approved one.
 * @throws NotFound `checkout_not_found`, Refused `not_a_repository`, `checkout_not_writable`, or `remote_mismatch` naming the remotes found
 */
export async function checkCheckout(repoDir: string, pushUrl: string): Promise<void> {
  const gitDir = await checkedGitDir(repoDir, pushUrl);
  requireWritable(gitDir, repoDir);
  await requireOwnRepository(gitDir, repoDir);
}

/**
 * The git folder of the checkout, its remote checked. All that follows happens in that folder: a link on the way to the
 * checkout may lead elsewhere a moment later.
 */
export async function checkedGitDir(repoDir: string, pushUrl: string): Promise<string> {
  const checkout = await checkoutAt(realFolder(repoDir));
  const remotes = await remotesOf(checkout);
  if (remotes.some(({ url }) => url === pushUrl || sameRemote(url, pushUrl, checkout.top)))
    return checkout.gitDir;
  const found = remotes.map(({ name, url }) => `${name} is ${withoutUrlSecrets(url)}`).join(', ');
  throw new Refused(
    'remote_mismatch',
    `no remote of ${repoDir} is ${withoutUrlSecrets(pushUrl)}, which was approved; ${found || 'it has no remote'}`,
    {
      hint: `name the checkout of that repository with --repo-dir, or add it as a remote to this one:\ngit -C ${shellWord(repoDir)} remote add core ${shellWord(withoutUrlSecrets(pushUrl))}`,
    },
  );
}

/**
 * Makes `ref` in the checkout as the clone has it, at `commit`. A ref that is there already at that commit is what was wanted.
 * @throws Conflict `ref_exists`, and what `checkCheckout` throws
 */
export async function deliver(
  repoDir: string,
  pushUrl: string,
  cloneDir: string,
  ref: string,
  commit: string,
  permit?: Permit,
): Promise<void> {
  const gitDir = await checkedGitDir(repoDir, pushUrl);
  const present = await refCommit(gitDir, ref);
  if (present === commit) return;
  if (present !== null) throw exists(repoDir, ref, present);
  await requireOwnRepository(gitDir, repoDir);
  const clone = join(cloneDir, '.git');
  if ((await refObject(clone, ref)) !== commit)
    throw new Failed('commit_not_in_clone', `${ref} in ${clone} is not at ${commit}`);
  // fetch-pack moves objects alone: it knows no remotes, no insteadOf, no tags, no FETCH_HEAD, and runs no maintenance.
  const fetch = ['fetch-pack', '--quiet', '--upload-pack=git-upload-pack', clone, ref];
  await git([...fetchSettings, ...fetch], writing(gitDir)).catch((error: unknown) => {
    throwIfDenied(error, repoDir);
    throw error;
  });
  await checkComplete(gitDir, commit);
  crashPoint('delivery.fetched');
  permit?.require();
  await createRef(gitDir, repoDir, ref, commit);
}

/** Some versions of git crash when they check a small fetch that is kept as a pack. */
const fetchSettings = ['-c', 'fetch.fsckObjects=false', '-c', 'fetch.unpackLimit=100'];

/** What is noted of a checkout before a delivery to it. @throws what `checkCheckout` throws */
export async function placeOf(repoDir: string, pushUrl: string): Promise<CheckoutPlace> {
  const dir = realFolder(repoDir);
  return placeAt(dir, await checkedGitDir(dir, pushUrl));
}

/** The same of a checkout that this process can deliver to. @throws what `checkCheckout` throws */
export async function writablePlace(repoDir: string, pushUrl: string): Promise<CheckoutPlace> {
  const dir = realFolder(repoDir);
  const gitDir = await checkedGitDir(dir, pushUrl);
  requireWritable(gitDir, repoDir);
  await requireOwnRepository(gitDir, repoDir);
  return placeAt(dir, gitDir);
}

function placeAt(dir: string, gitDir: string): CheckoutPlace {
  return { host: hostname(), dir, repository: repositoryId(gitDir) };
}

export function repositoryId(gitDir: string): string {
  const { ino, birthtimeNs } = statSync(sharedGitDir(gitDir), { bigint: true });
  return `${ino}-${birthtimeNs}`;
}

function realFolder(repoDir: string): string {
  try {
    return realpathSync(repoDir);
  } catch (cause) {
    throw new NotFound('checkout_not_found', `there is no folder ${repoDir}`, {
      cause,
      hint: 'name a checkout of the repository with --repo-dir',
    });
  }
}

export async function checkoutAt(folder: string): Promise<Checkout> {
  const found = await findCheckout(folder);
  if (typeof found !== 'string') return found;
  throw new Refused('not_a_repository', `${folder} is not a git repository: ${found}`, {
    hint: 'name a checkout of the repository with --repo-dir',
  });
}

export async function refCommit(gitDir: string, ref: string): Promise<string | null> {
  const found = await git(['rev-parse', '--verify', '--quiet', '--end-of-options', ref], {
    gitDir,
    accept: [1, 128],
  });
  return found.exitCode === 0 ? found.stdout.toString('utf8').trim() : null;
}

/** The history behind the commit is there, down to what the checkout had. */
async function checkComplete(gitDir: string, commit: string): Promise<void> {
  await git(['rev-list', '--objects', '--quiet', commit, '--not', '--all'], { gitDir });
}

async function createRef(gitDir: string, repoDir: string, ref: string, commit: string): Promise<void> {
  try {
    const none = '0'.repeat(commit.length);
    await git(['update-ref', '--no-deref', ref, commit, none], writing(gitDir));
  } catch (error) {
    const present = await refCommit(gitDir, ref);
    if (present === commit) return;
    if (present !== null) throw exists(repoDir, ref, present);
    if (codeOf(error) === 'repository_locked') throw error;
    throwIfDenied(error, repoDir);
    const words = error instanceof CoreError ? String(error.facts.stderr ?? error.message) : String(error);
    if (!/cannot lock ref/.test(words)) throw error;
    throw new Conflict('ref_exists', `${ref} cannot be made in ${repoDir}: ${words.trim()}`, {
      cause: error,
    });
  }
}

/** A folder below those that were checked is another user's, as an earlier git of root leaves it. */
function throwIfDenied(cause: unknown, repoDir: string): void {
  const words = cause instanceof CoreError ? String(cause.facts.stderr ?? '') : '';
  if (/permission denied|insufficient permission|read-only file system/i.test(words)) {
    throw new Refused('checkout_not_writable', `git cannot write to ${repoDir}: ${words.trim()}`, {
      cause,
      hint: 'Give every folder below .git to the owner of the checkout, with chown as root.',
    });
  }
}

function exists(repoDir: string, ref: string, present: string): Conflict {
  return new Conflict(
    'ref_exists',
    `${ref} exists in ${repoDir} at ${present.slice(0, 12)} and is not ours; nothing was changed there`,
    { hint: `rename or delete that branch, then run it again` },
  );
}

/** What a delivery writes to, below the git folder that all work trees of a repository share. */
const written = ['', 'objects', 'refs', 'refs/heads'];

/**
 * This process can add a branch to the repository.
 * @param gitDir of one of its work trees
 * @throws Refused (`checkout_not_writable`) naming whose it is
 */
export function requireWritable(gitDir: string, repoDir: string, tryAccess = accessSync): void {
  const shared = sharedGitDir(gitDir);
  for (const path of written.map((name) => join(shared, name))) {
    if (!existsSync(path)) continue;
    try {
      tryAccess(path, constants.W_OK | constants.X_OK);
    } catch (cause) {
      const { uid: owner } = statSync(path);
      const own = process.getuid?.() ?? owner;
      const what = `no branch can be delivered to ${repoDir}, for ${path} is not writable: ${messageOf(cause)}`;
      throw new Refused(
        'checkout_not_writable',
        [what, foreignOwner(path)].filter((part) => part !== null).join('; '),
        {
          cause,
          facts: { path, owner, user: own },
          hint: `Execute as the owner of the checkout (in containers CORE_UID and CORE_GID of .env), or give it to user ${own}.`,
        },
      );
    }
  }
}
