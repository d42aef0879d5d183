import { realpathSync, rmSync, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { InvalidInput } from '#kit/errors.ts';
import { type GitOptions, git } from '#kit/git/git.ts';
import { type GitCredential, isLocalRemote, otherEnd } from '#kit/git/git-environment.ts';
import { withoutUrlSecrets } from '#kit/git/git-failure.ts';
import { lockedRepository, lockHolder, takenLock } from '#kit/git/lock-file.ts';

/**
 * The commit of a branch on a remote; null while it does not exist.
 * @throws Unavailable `remote_unavailable`, Unauthorized `remote_unauthorized`, InvalidInput `remote_url_not_allowed`
 */
export async function remoteBranch(
  url: string,
  branch: string,
  credential: GitCredential | null,
  signal?: AbortSignal,
): Promise<string | null> {
  const ref = `refs/heads/${branch}`;
  return (await remoteRefs(url, [ref], credential, signal)).get(ref) ?? null;
}

/**
 * The objects of refs of a remote, by full name. Errors as for `remoteBranch`.
 * @param patterns full names; `*` stands for any characters
 */
export async function remoteRefs(
  url: string,
  patterns: readonly string[],
  credential: GitCredential | null,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  checkRemoteUrl(url);
  const { stdout } = await git(['ls-remote', ...reading(url), '--refs', '--', url, ...patterns], {
    network: true,
    credential,
    signal,
  });
  const lines = stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
  return new Map(lines.map((line) => line.split('\t').toReversed() as [string, string]));
}

/** Options of a git that reads from a remote: no program of a repository on this machine runs. */
export function reading(url: string): string[] {
  return isLocalRemote(url) ? [`--upload-pack=${otherEnd('upload-pack')}`] : [];
}

/** https, http, ssh, git and file URLs, `user@host:path`, and absolute paths; no transport that runs a program. */
export function checkRemoteUrl(url: string): void {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  const known = scheme !== undefined && ['https', 'http', 'ssh', 'git', 'file'].includes(scheme);
  const scp = /^(?:[\w.+-]+@)?[\w.-]+:(?!:)[^\s]/.test(url) && !url.startsWith('-');
  if (!/[\0-\x1f]/.test(url) && (known || scp || isAbsolute(url))) return;
  throw new InvalidInput(
    'remote_url_not_allowed',
    `remote '${withoutUrlSecrets(url)}' must be an https, http, ssh, git or file URL, host:path or an absolute path`,
  );
}

type PushRefusal =
  /** The lease did not hold, or history would be lost. */
  | { readonly result: 'moved'; readonly message: string }
  | { readonly result: 'rejected'; readonly message: string };
export type PushOutcome = { readonly result: 'done' } | PushRefusal;

export interface Push {
  readonly url: string;
  readonly branch: string;
  /** null deletes the branch. */
  readonly commit: string | null;
  /** Where the remote branch must be; null = it must not exist. */
  readonly expected: string | null;
  readonly credential: GitCredential | null;
}

/** Pushes one branch with a lease, in one step at the remote. Errors as for `remoteBranch`. */
export async function pushBranch(
  gitDir: string,
  push: Push,
  options: Pick<GitOptions, 'signal' | 'children'> = {},
): Promise<PushOutcome> {
  checkRemoteUrl(push.url);
  const ref = `refs/heads/${push.branch}`;
  const lease = `--force-with-lease=${ref}:${push.expected ?? ''}`;
  const writing = isLocalRemote(push.url) ? [`--receive-pack=${otherEnd('receive-pack')}`] : [];
  const args = ['push', ...writing, '--porcelain', '--no-verify', '--no-follow-tags', lease, '--', push.url];
  const attempt = () =>
    git([...args, `${push.commit ?? ''}:${ref}`], {
      gitDir,
      network: true,
      credential: push.credential,
      accept: [1],
      ...options,
    });
  let pushed = await attempt();
  if (pushed.exitCode !== 0 && (await clearStaleLock(push.url, pushed.stderr, options.signal)))
    pushed = await attempt();
  if (pushed.exitCode === 0) return { result: 'done' };
  return pushRefusal(push.url, pushed.stdout.toString('utf8'), pushed.stderr);
}

/** Reads why a push was refused: `!\t<refspec>\t[rejected] (stale info)` and the remote's own lines. */
export function pushRefusal(url: string, stdout: string, stderr: string): PushRefusal {
  const lock = isLocalRemote(url) ? takenLock(stderr) : null;
  const locked = lock === null ? null : lockedRepository(lock);
  if (locked !== null) return { result: 'rejected', message: `${locked.message}. ${locked.hint}` };
  const refusal = /^!\t[^\t]*\t(.*)$/m.exec(stdout)?.[1] ?? stderr;
  const remote = [...stderr.matchAll(/^remote: *(.*\S)/gm)].map(([, line]) => line);
  const message = withoutUrlSecrets([refusal.trim(), ...remote].join('; ')).slice(0, 1000);
  const moved = /stale info|fetch first|non-fast-forward|already exists|cannot lock ref/.test(refusal);
  return { result: moved ? 'moved' : 'rejected', message };
}

/** git holds a lock for milliseconds; one of this age was left by a crash. */
const staleAfter = 10_000;

/**
 * Where git says that a lock of the repository on this machine is taken: waits until the lock is gone, or so old that a crash
 * must have left it, and removes it then unless a process is seen to hold it. @returns whether trying again makes sense
 */
export async function clearStaleLock(url: string, stderr: string, signal?: AbortSignal): Promise<boolean> {
  const lock = takenLock(stderr);
  if (lock === null || !isInside(url, lock)) return false;
  const found = statOf(lock);
  if (found === undefined) return true;
  const age = Math.max(0, Date.now() - found.mtimeMs);
  for (const end = Date.now() + staleAfter - age; Date.now() < end; ) {
    await pause(100, undefined, { signal });
    const present = statOf(lock);
    if (present === undefined) return true;
    if (present.ino !== found.ino || present.mtimeMs !== found.mtimeMs) return false;
  }
  if (lockHolder(lock) !== null) return false;
  rmSync(lock, { force: true });
  return true;
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function isInside(url: string, lock: string): boolean {
  try {
    const folder = url.startsWith('file://') ? fileURLToPath(url) : url;
    if (!isAbsolute(folder) || !isAbsolute(lock)) return false;
    return `${realpathSync(dirname(lock))}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
  } catch {
    return false;
  }
}
