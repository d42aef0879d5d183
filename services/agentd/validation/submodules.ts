import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { chmod, lstat, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { guarded } from '#kit/callbacks.ts';
import { sha256 } from '#kit/digest.ts';
import { CoreError, messageOf, Refused } from '#kit/errors.ts';
import { git, parseConfigList } from '#kit/git/git.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { lookUp, readObject } from '#kit/git/objects.ts';
import { readTree, splitAtNul, submoduleMode } from '#kit/git/tree.ts';
import type { ValidationPlan } from '../action.ts';
import { exportTree } from '../git/export-tree.ts';
import { type CommitStore, openCommitStore } from '../git/mirror.ts';
import { pathProblem } from '../git/patch.ts';
import { submoduleUrl } from '../git/submodule-url.ts';
import type { RepositoryRef } from '../ports/forge.ts';

export type Submodules = NonNullable<ValidationPlan['submodules']>;
type Provided = Submodules['provided'][number];

/** The forge that a repository is on. */
export interface SubmoduleForge {
  readonly name: string;
  locate(url: string, folder: string): (RepositoryRef & { readonly number: number | null }) | null;
  repository(
    ref: RepositoryRef,
    signal?: AbortSignal,
  ): Promise<RepositoryRef & { readonly clone_url: string }>;
  gitCredential(): ReturnType<import('../ports/forge.ts').Forge['gitCredential']>;
}

/** A commit whose submodules are wanted. */
interface Superproject {
  readonly gitDir: string;
  readonly commit: string;
  readonly clone_url: string;
}

export interface SubmoduleTerms {
  /** Other https hosts that submodules may come from, without credentials. */
  readonly hosts: readonly string[];
  /** For the files, and the fetched objects, of all submodules of a commit together. */
  readonly maxBytes: number;
}

/** Bounds for all submodules of a commit together, and for submodules within submodules. */
const maxSubmodules = 32;
const maxDepth = 4;
const maxModulesBytes = 256 * 1024;
/** For one fetch, in ms. */
const fetchTimeout = 10 * 60 * 1000;

/**
 * Fetches the submodules of a commit that are repositories of the same forge or of an allowed host. The result names all others with the
 * reason; null if the commit has no submodules.
 */
export async function findSubmodules(
  stateDir: string,
  forge: SubmoduleForge,
  from: Superproject,
  terms: SubmoduleTerms,
  signal: AbortSignal,
): Promise<Submodules | null> {
  let left = terms.maxBytes;
  const provided: Provided[] = [];
  const missing: Submodules['missing'] = [];

  async function visit(parent: Superproject, above: string, depth: number): Promise<void> {
    const entries = (await readTree(parent.gitDir, parent.commit)).filter(
      ({ mode }) => mode === submoduleMode,
    );
    if (entries.length === 0) return;
    const urls = await urlsOf(parent);
    for (const entry of entries) {
      const path = `${above}${entry.path}`;
      try {
        if (!Buffer.from(entry.path).equals(entry.bytes) || pathProblem(path) !== null)
          fail('its path is not allowed');
        if (depth > maxDepth) fail(`it is more than ${maxDepth} submodules deep`);
        if (provided.length >= maxSubmodules) fail(`at most ${maxSubmodules} submodules are provided`);
        const ref = repositoryOf(urls(entry.path), parent, forge, terms.hosts);
        const { store, clone_url } = await fetched(
          stateDir,
          forge,
          { ...ref, commit: entry.id },
          left,
          signal,
        );
        const bytes = await treeBytes(store.dir, entry.id);
        if (bytes > left) fail(tooLarge);
        left -= bytes;
        provided.push({ path, ...ref, commit: entry.id });
        await visit({ gitDir: store.dir, commit: entry.id, clone_url }, `${path}/`, depth + 1);
      } catch (error) {
        if (signal.aborted || !(error instanceof NotProvided || error instanceof CoreError)) throw error;
        missing.push({ path, why: messageOf(error) });
      }
    }
  }

  await visit(from, '', 1);
  return provided.length + missing.length === 0 ? null : { forge: forge.name, provided, missing };
}

/** Fetches what is not here. @throws as `Mirror.update` */
export async function fetchSubmodules(
  stateDir: string,
  forge: SubmoduleForge,
  { provided }: Submodules,
  { hosts, maxBytes }: SubmoduleTerms,
): Promise<void> {
  for (const one of provided) {
    if (await storeOf(stateDir, forge.name, one).has(one.commit)) continue;
    if (one.url !== undefined && !isAllowedHost(one.url, hosts)) {
      throw new Refused(
        'host_not_allowed',
        `the submodule '${one.path}' is from ${one.url}, whose host is not in fetch_hosts of validation.json`,
        { hint: 'Add the host there, or plan the issue again.' },
      );
    }
    await fetched(stateDir, forge, one, maxBytes, new AbortController().signal);
  }
}

/** Our copy of the repository of a submodule. */
export function storeOf(
  stateDir: string,
  forge: string,
  { owner, repo, url }: Pick<Provided, 'owner' | 'repo' | 'url'>,
): CommitStore {
  // No forge has a name that begins with an underscore and holds a URL's digest.
  if (url !== undefined)
    return openCommitStore({ stateDir, forge: '_hosts', owner: 'https', repo: sha256(url) });
  return openCommitStore({ stateDir, forge, owner, repo });
}

/**
 * Writes submodules into the files of a tree, each to its empty folder, without anything of git's. A submodule that the tree no longer has,
 * or has at another commit, is left out.
 * @param into the files of the tree, just written
 * @throws Refused `tree_not_allowed` if something else is in its place
 */
export async function placeSubmodules(
  stateDir: string,
  { mirror_dir, tree }: { readonly mirror_dir: string; readonly tree: string },
  { forge, provided }: Submodules,
  into: string,
): Promise<void> {
  const entries = (await readTree(mirror_dir, tree)).filter(({ mode }) => mode === submoduleMode);
  const placed: string[] = [];
  for (const one of provided.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const { path, commit } = one;
    const isNested = placed.some((folder) => path.startsWith(`${folder}/`));
    if (!isNested && !entries.some((entry) => entry.path === path && entry.id === commit)) continue;
    if (!(await isEmptyFolder(into, path)))
      throw new Refused(
        'tree_not_allowed',
        `the submodule '${path}' cannot be written: its folder is not empty`,
      );
    // Beside the files of the tree, where nothing of theirs can be in the way.
    const aside = `${into}.submodule`;
    await exportTree(storeOf(stateDir, forge, one).dir, commit, aside);
    await chmod(aside, 0o755);
    await rename(aside, join(into, path));
    placed.push(path);
  }
}

/** The commit of a repository, fetched unless it is here. */
async function fetched(
  stateDir: string,
  forge: SubmoduleForge,
  { owner, repo, commit, url }: Omit<Provided, 'path'>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ store: CommitStore; clone_url: string }> {
  const store = storeOf(stateDir, forge.name, { owner, repo, url });
  const clone_url = url ?? (await forge.repository({ owner, repo }, signal)).clone_url;
  if (await store.has(commit)) return { store, clone_url };
  const credential = url === undefined ? await forge.gitCredential() : noCredential;
  const full = new AbortController();
  const before = packBytes(store.dir);
  const watch = setInterval(
    guarded('the fetch of a submodule', () => {
      if (packBytes(store.dir) - before > maxBytes) full.abort();
    }),
    200,
  );
  try {
    const limited = AbortSignal.any([signal, full.signal, AbortSignal.timeout(fetchTimeout)]);
    await store.fetch(clone_url, commit, credential, limited);
  } catch (error) {
    if (!full.signal.aborted) throw error;
    removeUnfinished(store.dir);
    fail(tooLarge);
  } finally {
    clearInterval(watch);
  }
  return { store, clone_url };
}

const tooLarge = 'with it the submodules would have more than submodules_mib of fetch_limits';
/** Keeps git from the person's own credentials too. */
const noCredential: GitCredential = { username: '', password: '', origins: [], source: 'no credentials' };

/** Bytes of packs, also of one that git is fetching. */
function packBytes(gitDir: string): number {
  const folder = join(gitDir, 'objects', 'pack');
  let bytes = 0;
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    bytes += statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  return bytes;
}

/** A git that is ended leaves what it had fetched. */
function removeUnfinished(gitDir: string): void {
  const folder = join(gitDir, 'objects', 'pack');
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (name.startsWith('tmp_')) rmSync(join(folder, name), { force: true });
}

/** Bytes of all files of a commit. */
async function treeBytes(gitDir: string, commit: string): Promise<number> {
  const args = ['ls-tree', '-r', '-l', '-z', '--full-tree', '--end-of-options', commit];
  const { stdout } = await git(args, { gitDir });
  return splitAtNul(stdout)
    .map((record) => / +(\d+)\t/.exec(record.toString('latin1'))?.[1] ?? '0')
    .reduce((sum, size) => sum + Number(size), 0);
}

function isAllowedHost(url: string, hosts: readonly string[]): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'https:' && hosts.includes(new URL(url).host);
}

/** Reads which URL `.gitmodules` has for a path. */
async function urlsOf({ gitDir, commit }: Superproject): Promise<(path: string) => string> {
  const [id = null] = await lookUp(gitDir, [`${commit}:.gitmodules`]);
  if (id === null) return () => fail('there is no .gitmodules');
  const sections = new Map<string, Record<string, string>>();
  try {
    await readObject(gitDir, id, (size) => {
      if (size > maxModulesBytes) fail('.gitmodules is too large');
    });
    const { stdout } = await git(['config', `--blob=${id}`, '--list', '-z'], { gitDir });
    for (const [key, value] of parseConfigList(stdout)) {
      const [, name, what] = /^submodule\.(.*)\.(path|url)$/s.exec(key) ?? [];
      if (name !== undefined && what !== undefined)
        sections.set(name, { ...sections.get(name), [what]: value });
    }
  } catch (error) {
    return () => fail(`.gitmodules cannot be read: ${messageOf(error)}`);
  }
  return (path) => {
    const urls = [...sections.values()].filter((section) => section.path === path).map(({ url }) => url);
    if (urls.length > 1) fail('.gitmodules has several entries for it');
    return urls[0] ?? fail('.gitmodules has no URL for it');
  };
}

/** The repository of the forge, or of an allowed host, that a URL names. */
function repositoryOf(
  url: string,
  { clone_url }: Superproject,
  forge: SubmoduleForge,
  hosts: readonly string[],
): Pick<Provided, 'owner' | 'repo' | 'url'> {
  const named = submoduleUrl(url, clone_url);
  if ('refused' in named) return fail(named.refused);
  const located = forge.locate(named.url, '/');
  if (located === null && isAllowedHost(named.url, hosts)) {
    const address = named.url.replace(/\/+$/, '');
    return { owner: new URL(address).host, repo: address.split('/').at(-1)!, url: address };
  }
  if (located === null || located.number !== null) {
    const host = named.url.startsWith('/') ? '' : ', and its host is not in fetch_hosts';
    return fail(`its URL '${url}' is not a repository of forge '${forge.name}'${host}`);
  }
  return { owner: located.owner, repo: located.repo, url: undefined };
}

/** A reason, for people, why a submodule stays empty. */
class NotProvided extends Error {}

function fail(why: string): never {
  throw new NotProvided(why);
}

async function isEmptyFolder(root: string, path: string): Promise<boolean> {
  let current = root;
  for (const part of path.split('/')) {
    current = join(current, part);
    const facts = await lstat(current).catch(() => null);
    if (!facts?.isDirectory()) return false;
  }
  return (await readdir(current)).length === 0;
}
