import { existsSync, lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { codeOf, Failed, messageOf } from '#kit/errors.ts';
import { type Folders, unfinishedRestoreName } from '#kit/folders.ts';
import type { LeftOut } from './manifest.ts';

/** What a backup takes along on request. */
export interface BackupScope {
  readonly withSecrets: boolean;
  readonly withMirrors: boolean;
}

/** What of the state folder is not in a backup; paths below it. */
interface LeftOutFolder {
  readonly path: string;
  readonly why: string;
}

export const mirrors: LeftOutFolder = {
  path: 'mirrors',
  why: 'fetched again from the forges (--with-mirrors takes them along, for base commits that a forge has lost)',
};

/** Made again by those who use them. */
export const disposable: readonly LeftOutFolder[] = [
  { path: 'clones', why: 'built again from the record of each run' },
  { path: 'context/cypher', why: 'made again from the context record' },
  { path: 'scratch', why: 'of plannings that are under way' },
  { path: 'prepared', why: 'made again by the next validation' },
  { path: 'submodules', why: 'fetched again by the next validation' },
  { path: 'validation', why: 'of validations that are under way' },
  { path: 'supervisor', why: 'about the processes that run now' },
];

/** Of this machine's processes, of writes under way, or of databases that are copied as a whole. */
const passing = [
  /^listening\.json$/,
  /^holder\.json$/,
  /\.lock(-journal)?$/,
  /\.sqlite-(wal|shm|journal)$/,
  /^\..*\.(tmp|draft|partial|pruned|new)$/,
  /^tmp_/,
  new RegExp(`^${unfinishedRestoreName.replaceAll('.', '\\.')}`),
];

export function isPassing(name: string): boolean {
  return passing.some((pattern) => pattern.test(name));
}

function isStore(name: string): boolean {
  return name.endsWith('.sqlite');
}

/** What nobody can put into a backup because it is not ours. */
const notOurs: readonly LeftOut[] = [
  { what: 'working copies of repositories', why: 'they belong to people; Core only delivers branches there' },
];

interface PlacedFile {
  /** In the backup, as in `state/forge/demo/hello/repository.json`. */
  readonly name: string;
  readonly path: string;
  readonly executable: boolean;
}

/** What a folder held at one moment, as far as that can be had in no time. */
export interface CapturedTree {
  readonly folders: string[];
  /** Small enough to have been read at once. */
  readonly read: (PlacedFile & { readonly bytes: Uint8Array })[];
  /** To be read later; files of that size are written once. */
  readonly later: PlacedFile[];
  readonly stores: Pick<PlacedFile, 'name' | 'path'>[];
  /** `objects` of git repositories, whose files never change; the refs that need them were read before. */
  readonly objects: Pick<PlacedFile, 'name' | 'path'>[];
  readonly leftOut: LeftOut[];
}

interface CaptureOptions {
  /** Paths below the folder that are not looked at. */
  readonly without: readonly string[];
  /** Whether a symbolic link stands for what it names, as in a configuration folder that a person keeps. */
  readonly followLinks: boolean;
  /** By `performance.now()`; what is not read by then is read later. */
  readonly deadline: number;
}

const maxReadBytes = 64 * 1024;
const maxDepth = 64;

export function emptyTree(): CapturedTree {
  return { folders: [], read: [], later: [], stores: [], objects: [], leftOut: [] };
}

/** Adds a folder, called `name` in the backup, to `tree`. @throws Failed (`backup_unreadable`) */
export function capture(
  tree: CapturedTree,
  name: string,
  path: string,
  { without, followLinks, deadline }: CaptureOptions,
): void {
  const skipped = new Set(without.map((one) => `${name}/${one}`));
  const facts = followLinks ? statSync : lstatSync;
  visit(name, path, 0);

  function visit(folder: string, folderPath: string, depth: number): void {
    const names = namesIn(folderPath);
    if (names === null) return;
    if (depth > 0) tree.folders.push(folder);
    const isRepository = ['HEAD', 'objects', 'refs'].every((one) => names.includes(one));
    for (const one of names.toSorted()) {
      const placed = { name: `${folder}/${one}`, path: join(folderPath, one) };
      if (isPassing(one) || skipped.has(placed.name)) continue;
      const stats = reading(placed.path, () => facts(placed.path));
      if (stats === null) continue;
      if (isRepository && one === 'objects' && stats.isDirectory()) tree.objects.push(placed);
      else if (!stats.isDirectory()) add(placed, stats);
      else if (depth < maxDepth) visit(placed.name, placed.path, depth + 1);
      else leaveOut(placed.name, `deeper than ${maxDepth} folders`);
    }
  }

  function add(placed: Pick<PlacedFile, 'name' | 'path'>, stats: Stats): void {
    const file = { ...placed, executable: isExecutable(stats) };
    if (!stats.isFile()) leaveOut(placed.name, stats.isSymbolicLink() ? 'a symbolic link' : 'no file');
    else if (isStore(placed.name)) tree.stores.push(placed);
    else if (isSoonRead(stats)) addRead(file);
    else tree.later.push(file);
  }

  function isSoonRead({ size }: Stats): boolean {
    return size <= maxReadBytes && performance.now() <= deadline;
  }

  function addRead(file: PlacedFile): void {
    const bytes = reading(file.path, () => readFileSync(file.path));
    if (bytes !== null) tree.read.push({ ...file, bytes });
  }

  function leaveOut(what: string, why: string): void {
    tree.leftOut.push({ what, why });
  }
}

export function isExecutable({ mode }: Pick<Stats, 'mode'>): boolean {
  return (mode & 0o100) !== 0;
}

/** null where there is no such folder. */
export function namesIn(folder: string): string[] | null {
  return reading(folder, () => readdirSync(folder));
}

/** null for what is gone; @throws Failed (`backup_unreadable`) */
export function reading<T>(path: string, work: () => T): T | null {
  try {
    return work();
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw unreadable(path, cause);
  }
}

export function unreadable(path: string, cause: unknown): Failed {
  return new Failed('backup_unreadable', `${path} cannot be read: ${messageOf(cause)}`, {
    cause,
    facts: { path, code: codeOf(cause) },
    hint: 'Run it as the user that Core runs as.',
  });
}

/** Everything that belongs to the installation in some way and is not in its backup. */
export function leftOutOf(
  folders: Folders,
  { withSecrets, withMirrors }: BackupScope,
  met: readonly LeftOut[],
): LeftOut[] {
  const secrets = ['secrets', 'tokens'].map((name) => ({
    what: `config/${name}`,
    why: 'secret; --with-secrets takes them along',
  }));
  const rebuilt = [...disposable, ...(withMirrors ? [] : [mirrors])];
  return [
    ...(withSecrets
      ? []
      : secrets.filter(({ what }) => existsSync(join(folders.config, what.slice('config/'.length))))),
    ...rebuilt
      .filter(({ path }) => existsSync(join(folders.state, path)))
      .map(({ path, why }) => ({ what: `state/${path}`, why })),
    ...met,
    ...forgesElsewhere(folders),
    ...notOurs,
    ...checkouts(folders),
  ];
}

function checkouts(folders: Folders): LeftOut[] {
  const settings = unlessUnreadable(() => readSettings({ folders, environment }));
  return Object.entries(settings?.agentd.checkouts ?? {}).map(([name, path]) => ({
    what: path,
    why: `the working copy '${name}' of agentd.checkouts`,
  }));
}

function forgesElsewhere(folders: Folders): LeftOut[] {
  const found = unlessUnreadable(() => readKnownForges(folders)) ?? [];
  return found.flatMap(({ name, root }) =>
    root !== null && isAbsolute(root)
      ? [{ what: root, why: `the forge '${name}' lies outside the state folder` }]
      : [],
  );
}

/** A configuration that does not hold is backed up like any other. */
function unlessUnreadable<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
