import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOf, Failed, messageOf } from '#kit/errors.ts';
import type { LeftOut } from './manifest.ts';
import { belongsToStore, isPassing, isStore } from './state-folder.ts';

export interface PlacedFile {
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

export interface CaptureOptions {
  /** Paths below the folder that are not looked at. */
  readonly without: readonly string[];
  /** Whether a symbolic link stands for what it names, as in a configuration folder that a person keeps. */
  readonly followLinks: boolean;
  /** By `performance.now()`; what is not read by then is read later. */
  readonly deadline: number;
}

const largestRead = 64 * 1024;
const deepest = 64;

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
      else if (depth < deepest) visit(placed.name, placed.path, depth + 1);
      else leaveOut(placed.name, `deeper than ${deepest} folders`);
    }
  }

  function add(placed: Pick<PlacedFile, 'name' | 'path'>, stats: Stats): void {
    const file = { ...placed, executable: isExecutable(stats) };
    if (!stats.isFile()) leaveOut(placed.name, stats.isSymbolicLink() ? 'a symbolic link' : 'no file');
    else if (isStore(placed.name)) tree.stores.push(placed);
    else if (belongsToStore(basename(placed.path)) || isSoonRead(stats)) addRead(file);
    else tree.later.push(file);
  }

  function isSoonRead({ size }: Stats): boolean {
    return size <= largestRead && performance.now() <= deadline;
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
