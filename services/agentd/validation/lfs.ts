import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { chmod, copyFile, lstat, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CoreError, Failed, messageOf } from '#kit/errors.ts';
import { git, parseConfigList } from '#kit/git/git.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { isLfsPointer, type LfsObject, lfsObjectOf, maxPointerBytes } from '#kit/git/lfs-pointer.ts';
import { lookUp, readObject, readObjects } from '#kit/git/objects.ts';
import { linkMode, readTree, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import type { ValidationPlan } from '../action.ts';
import { placeOf } from '../git/export-tree.ts';
import { fetchLfsObjects, hasLfsObject, lfsServerOf, storedObject } from '../git/lfs-server.ts';
import { attributesOf } from './attributes.ts';
import { sweep } from './work-folder.ts';

export type Lfs = NonNullable<ValidationPlan['lfs']>;

/** The commit whose objects are wanted, in the mirror of its repository. */
export interface LfsSource {
  readonly mirror_dir: string;
  readonly base_commit: string;
  readonly clone_url: string;
  readonly credential: GitCredential | null;
}

export interface LfsTerms {
  /** Other https hosts that a `.lfsconfig` may name. */
  readonly hosts: readonly string[];
  readonly limits: { readonly lfs_objects: number; readonly lfs_mib: number };
}

/** Files whose reason is recorded, at most. */
const maxReasons = 200;
const maxConfigBytes = 64 * 1024;
/** Age at which objects that are no longer used are removed, in ms. */
const keptFor = 30 * 24 * 60 * 60 * 1000;
const mebibyte = 1024 * 1024;

/**
 * Fetches the objects of Git LFS that the base commit names. The result names all others with the reason; null if neither the
 * commit nor its submodules have any.
 */
export async function findLfs(
  source: LfsSource,
  terms: LfsTerms,
  submodules: readonly { readonly path: string; readonly dir: string; readonly commit: string }[],
  signal: AbortSignal,
): Promise<Lfs | null> {
  const { mirror_dir, base_commit } = source;
  await sweep(storeOf(mirror_dir), keptFor, () => true);
  const pointers = await lfsPointers(mirror_dir, base_commit);
  const why = new Map<string, string>();
  for (const { path: folder, dir, commit } of submodules) {
    for (const { path } of await lfsPointers(dir, commit))
      why.set(`${folder}/${path}`, 'objects of submodules are not fetched');
  }
  const wanted = new Map<string, { path: string } & LfsObject>();
  let bytes = 0;
  for (const { path, object } of pointers) {
    if (object === null) why.set(path, 'the pointer is damaged');
    else if (wanted.has(object.oid)) continue;
    else if (wanted.size >= terms.limits.lfs_objects)
      why.set(path, `at most ${terms.limits.lfs_objects} objects are provided: lfs_objects of fetch_limits`);
    else if (bytes + object.size > terms.limits.lfs_mib * mebibyte)
      why.set(
        path,
        `with it the objects would have more than ${terms.limits.lfs_mib} MiB: lfs_mib of fetch_limits`,
      );
    else {
      bytes += object.size;
      wanted.set(object.oid, { path, ...object });
    }
  }
  const objects = [...wanted.values()];
  const missing = await fetchAbsent(source, terms, objects, signal).catch((error: unknown) => {
    if (signal.aborted || !(error instanceof CoreError)) throw error;
    return new Map(objects.map(({ oid }) => [oid, messageOf(error)]));
  });
  const provided: Lfs['provided'] = [];
  for (const { path, oid, size } of objects)
    if (await hasLfsObject(storeOf(mirror_dir), { oid, size })) provided.push({ path, oid, size });
  const isHere = new Set(provided.map(({ oid }) => oid));
  for (const { path, object } of pointers) {
    const reason = object === null || isHere.has(object.oid) ? undefined : missing.get(object.oid);
    if (reason !== undefined) why.set(path, reason);
  }
  if (provided.length + why.size === 0) return null;
  return {
    provided,
    missing: [...why].slice(0, maxReasons).map(([path, reason]) => ({ path, why: reason })),
  };
}

/**
 * Fetches the approved objects that are not here.
 * @throws Failed `lfs_object_missing`; as `fetchLfsObjects`
 */
export async function fetchLfs(
  source: () => Promise<LfsSource>,
  mirrorDir: string,
  hosts: readonly string[],
  { provided }: Lfs,
  signal: AbortSignal,
): Promise<void> {
  const absent = await absentOf(mirrorDir, provided);
  if (absent.length === 0) return;
  const [missing] = await fetchAbsent(await source(), { hosts }, absent, signal);
  if (missing === undefined) return;
  const { path } = provided.find(({ oid }) => oid === missing[0])!;
  throw new Failed(
    'lfs_object_missing',
    `the approved object of Git LFS for ${path} cannot be had: ${missing[1]}`,
    {
      facts: { path, oid: missing[0] },
      hint: 'Plan the issue again: the new plan says which objects are there.',
    },
  );
}

/**
 * Writes objects in the place of their pointers, into the files of a tree that were just written. A pointer whose object was not approved stays.
 * @throws Failed `lfs_object_damaged`
 */
export async function placeLfs(
  { mirror_dir, tree }: { readonly mirror_dir: string; readonly tree: string },
  { provided }: Lfs,
  into: string,
): Promise<void> {
  const sizes = new Map(provided.map(({ oid, size }) => [oid, size]));
  for (const { entry, object } of await lfsPointers(mirror_dir, tree)) {
    if (object === null || sizes.get(object.oid) !== object.size) continue;
    const place = placeOf(into, entry.bytes);
    if (!(await lstat(place)).isFile()) continue;
    const stored = storedObject(storeOf(mirror_dir), object.oid);
    // Beside the files of the tree, where nothing of theirs can be in the way.
    const aside = `${into}.lfs`;
    await copyFile(stored, aside, constants.COPYFILE_FICLONE);
    if ((await sha256Of(aside)) !== object.oid) {
      await rm(stored, { force: true });
      await rm(aside, { force: true });
      throw new Failed(
        'lfs_object_damaged',
        `the object of Git LFS in ${stored} was changed; it is removed`,
        {
          facts: { path: entry.path, oid: object.oid },
          hint: 'Try again: the object is fetched again.',
        },
      );
    }
    await chmod(aside, entry.mode === '100755' ? 0o755 : 0o644);
    await rename(aside, place);
  }
}

export interface LfsFile {
  readonly entry: TreeEntry;
  readonly path: string;
  /** null if the pointer is damaged. */
  readonly object: LfsObject | null;
}

/** Files that a checkout with Git LFS would replace: pointers with `filter=lfs`. */
export async function lfsPointers(gitDir: string, treeish: string): Promise<LfsFile[]> {
  const entries = await readTree(gitDir, treeish);
  const regular = entries.filter(({ mode }) => mode !== linkMode && mode !== submoduleMode);
  const marked = await attributesOf(gitDir, treeish, regular);
  const lfs = new Set(marked.filter(({ attributes }) => attributes.filter === 'lfs').map(({ path }) => path));
  return pointersAmong(
    gitDir,
    regular.filter(({ path }) => lfs.has(path)),
  );
}

export async function pointersAmong(gitDir: string, files: readonly TreeEntry[]): Promise<LfsFile[]> {
  if (files.length === 0) return [];
  const input = `${files.map(({ id }) => id).join('\n')}\n`;
  const { stdout } = await git(['cat-file', '--batch-check=%(objectsize)'], { gitDir, input });
  const sizes = stdout.toString('latin1').split('\n').map(Number);
  const small = files.filter((_, at) => sizes[at]! < maxPointerBytes);
  const pointers: LfsFile[] = [];
  let at = 0;
  for await (const { bytes } of readObjects(
    gitDir,
    small.map(({ id }) => id),
  )) {
    const entry = small[at++]!;
    if (isLfsPointer(bytes)) pointers.push({ entry, path: entry.path, object: lfsObjectOf(bytes) });
  }
  return pointers;
}

/** Where the objects of a repository are kept by oid; can be deleted at any time. */
function storeOf(mirrorDir: string): string {
  return join(mirrorDir, 'lfs');
}

async function fetchAbsent(
  { mirror_dir, base_commit, clone_url, credential }: LfsSource,
  { hosts }: Pick<LfsTerms, 'hosts'>,
  objects: readonly LfsObject[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const absent = await absentOf(mirror_dir, objects);
  if (absent.length === 0) return new Map();
  const server = lfsServerOf(clone_url, credential, await namedServer(mirror_dir, base_commit), hosts);
  if ('refused' in server) return new Map(absent.map(({ oid }) => [oid, server.refused]));
  return fetchLfsObjects(server, absent, storeOf(mirror_dir), signal);
}

async function absentOf(mirrorDir: string, objects: readonly LfsObject[]): Promise<LfsObject[]> {
  const absent: LfsObject[] = [];
  for (const object of objects) if (!(await hasLfsObject(storeOf(mirrorDir), object))) absent.push(object);
  return absent;
}

/** The URL in the `.lfsconfig` of a commit; null if it names none. */
async function namedServer(gitDir: string, commit: string): Promise<string | null> {
  const [id = null] = await lookUp(gitDir, [`${commit}:.lfsconfig`]);
  if (id === null) return null;
  await readObject(gitDir, id, (size) => {
    if (size > maxConfigBytes) throw new Failed('lfs_not_understood', '.lfsconfig is too large');
  });
  const { stdout } = await git(['config', `--blob=${id}`, '--list', '-z'], { gitDir });
  const settings = parseConfigList(stdout);
  for (const name of ['lfs.url', 'remote.origin.lfsurl']) {
    const found = settings.findLast(([key]) => key === name);
    if (found !== undefined) return found[1];
  }
  return null;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
