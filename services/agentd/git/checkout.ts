import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Conflict, Refused } from '#kit/errors.ts';
import { foreignOwner } from '#kit/folders.ts';
import { type GitOptions, type GitResult, parseConfigList, git as runGit } from '#kit/git/git.ts';
import { personalEnvironment } from '#kit/git/git-environment.ts';
import { withoutUrlSecrets } from '#kit/git/git-failure.ts';
import { shellWord } from '#kit/shell-word.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { remoteUrls, sameRemote } from './remote-address.ts';

/** A person's checkout. Its configuration is theirs, or hostile: nothing in it may start a program. */
export interface Checkout {
  /** Its top folder; a remote given as a relative path starts from there. */
  readonly top: string;
  /** Of a jj repository without a `.git` beside it, the git repository that lies inside `.jj`. */
  readonly gitDir: string;
}

/** Every git in a checkout reads its configuration, which may include a file that never ends. */
export function checkoutGit(args: readonly string[], options: GitOptions): Promise<GitResult> {
  return runGit(args, { signal: AbortSignal.timeout(120_000), ...options });
}

/** The checkout that a folder lies in, or the reason why it lies in none. */
export async function findCheckout(folder: string): Promise<Checkout | string> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return 'it is not a folder';
  const found = await checkoutGit(['rev-parse', '--absolute-git-dir', '--show-toplevel'], {
    cwd: folder,
    accept: [128],
  });
  const [gitDir = '', shown = ''] = found.stdout.toString('utf8').split('\n');
  // In a bare repository git names its folder, and fails to name a top.
  const top = shown === '' ? folder : shown;
  const jj = jjCheckout(folder);
  if (jj !== null && (gitDir === '' || jj.top.length > top.length)) return jj;
  if (gitDir === '') return unreadable(folder) ?? found.stderr.trim();
  return { top, gitDir: realpathSync(gitDir) };
}

/** git takes a `.git` that it may not enter for none. */
function unreadable(folder: string): string | null {
  for (let top = folder; ; top = dirname(top)) {
    const gitDir = join(top, '.git');
    if (existsSync(gitDir)) {
      try {
        accessSync(gitDir, constants.R_OK | constants.X_OK);
        return null;
      } catch {
        const owner = foreignOwner(gitDir);
        return `this user may not read ${gitDir}${owner === null ? '' : `: ${owner}`}`;
      }
    }
    if (dirname(top) === top) return null;
  }
}

/**
 * What this process writes to the repository has the same owner as the rest of it, unless several users share the repository.
 * @param gitDir of one of its work trees
 * @throws Refused (`checkout_not_writable`) naming whose it is
 */
export async function requireOwnRepository(
  gitDir: string,
  dir: string,
  user = process.geteuid?.(),
): Promise<void> {
  const shared = sharedGitDir(gitDir);
  const foreign = ['', 'objects', 'refs', 'refs/heads']
    .map((name) => join(shared, name))
    .find((path) => existsSync(path) && user !== undefined && statSync(path).uid !== user);
  if (foreign === undefined || (await isShared(gitDir))) return;
  const owner = statSync(foreign).uid;
  throw new Refused(
    'checkout_not_writable',
    `nothing is written to ${dir}, for ${foreign} belongs to user ${owner}: files of user ${user} would be left there`,
    {
      facts: { path: foreign, owner, user },
      hint: `Run it as user ${owner} (in containers CORE_UID and CORE_GID of .env). If several users write to that repository:\ngit -C ${shellWord(dir)} config core.sharedRepository group`,
    },
  );
}

/** True if the repository says that several users write to it. */
async function isShared(gitDir: string): Promise<boolean> {
  const { stdout } = await checkoutGit(['config', '--get', 'core.sharedRepository'], { gitDir, accept: [1] });
  return !/^(umask|false|no|off|0)?$/i.test(stdout.toString('utf8').trim());
}

/** That of a linked work tree lies in the one of its repository, and names it. */
export function sharedGitDir(gitDir: string): string {
  const pointer = join(gitDir, 'commondir');
  return existsSync(pointer) ? resolve(gitDir, readSmallFile(pointer).trim()) : gitDir;
}

/** jj names its git repository in `.jj/repo/store/git_target`; in a second workspace `.jj/repo` is a file with the path of the first. */
function jjCheckout(folder: string): Checkout | null {
  for (let top = folder; ; top = dirname(top)) {
    const named = join(top, '.jj', 'repo');
    if (existsSync(named)) {
      const repo = statSync(named).isFile() ? resolve(top, '.jj', readSmallFile(named).trim()) : named;
      const target = join(repo, 'store', 'git_target');
      if (statSync(target, { throwIfNoEntry: false })?.isFile() !== true) return null;
      const gitDir = resolve(repo, 'store', readSmallFile(target).trim());
      return existsSync(gitDir) ? { top, gitDir: realpathSync(gitDir) } : null;
    }
    if (dirname(top) === top) return null;
  }
}

/** Its remotes with every URL that they have, after the person's `insteadOf`. */
export async function remotesOf({ gitDir }: Checkout): Promise<{ name: string; url: string }[]> {
  const env = personalOverrides();
  const listed = await checkoutGit(['config', '--list', '-z', '--includes'], { gitDir, env });
  return remoteUrls(parseConfigList(listed.stdout));
}

/** The top of the checkout that the folder lies in, if one of its remotes is this repository. */
export async function checkoutOf(folder: string, pushUrl: string): Promise<string | null> {
  const checkout = await findCheckout(folder);
  if (typeof checkout === 'string') return null;
  return (await hasRemote(checkout, pushUrl)) ? checkout.top : null;
}

/** True if one of the remotes of a checkout is this repository. */
export async function hasRemote(checkout: Checkout, pushUrl: string): Promise<boolean> {
  const remotes = await remotesOf(checkout);
  return remotes.some(({ url }) => sameRemote(url, pushUrl, checkout.top));
}

/**
 * Adds a remote to a checkout, in its own configuration.
 * @throws Conflict (`remote_exists`) where a remote of that name is elsewhere; as `requireOwnRepository`
 */
export async function addRemote(checkout: Checkout, name: string, url: string): Promise<void> {
  const present = (await remotesOf(checkout)).find((remote) => remote.name === name);
  if (present === undefined) {
    await requireOwnRepository(checkout.gitDir, checkout.top);
    await checkoutGit(['remote', 'add', name, url], { gitDir: checkout.gitDir });
    return;
  }
  if (sameRemote(present.url, url, checkout.top)) return;
  throw new Conflict(
    'remote_exists',
    `${checkout.top} has a remote '${name}' already: ${withoutUrlSecrets(present.url)}`,
    {
      hint: `connect it under another name:\ngit -C ${shellWord(checkout.top)} remote add NAME ${shellWord(url)}`,
    },
  );
}

/** Lets `git config --list` see the person's global `insteadOf` rules too; listing runs nothing. */
function personalOverrides(): Record<string, string> {
  const { HOME, XDG_CONFIG_HOME } = personalEnvironment();
  const file = join(HOME ?? '/nonexistent', '.gitconfig');
  const xdg = join(XDG_CONFIG_HOME ?? join(HOME ?? '/nonexistent', '.config'), 'git', 'config');
  return { GIT_CONFIG_GLOBAL: existsSync(file) ? file : existsSync(xdg) ? xdg : '/dev/null' };
}
