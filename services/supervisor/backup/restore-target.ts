import { existsSync, lstatSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import * as t from 'io-ts';
import { runningService } from '#kit/config/running-service.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { StackNote, stackFolder, stackNoteName } from '#kit/contracts/stack-note.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson } from '#kit/decode.ts';
import { makePrivateFolder, syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Conflict } from '#kit/errors.ts';
import { type Folders, prepareFolder, unfinishedRestoreName } from '#kit/folders.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { type FolderHold, holdFolder } from '#kit/storage/lock.ts';
import { isRunning } from '#kit/storage/process-identity.ts';
import { isEmptyFolder, isFolder, moveIntoPlace, removeFromPlace } from './move-into-place.ts';

export type Root = 'state' | 'config';

/**
 * Two empty folders that are being filled. While `restore.unfinished` is in one of them nothing of Core uses them; everything is
 * put together in there first.
 */
export interface RestoreTarget {
  /** Where what belongs into a folder is put together. */
  staging(root: Root): string;
  /** Puts everything into its place. Only with its last step the installation is there. */
  publish(): void;
  /** Leaves the folders as they were found. */
  discard(): void;
}

/** Names in the folders that this restore, or one that was cut off, puts there. */
const Moving = t.strict({ state: t.array(t.string), config: t.array(t.string) });
const movingName = 'moving.json';

/** @throws Conflict (`restore_in_use`, `restore_not_empty`, `restore_held`), Failed (`state_not_writable`, `config_not_writable`) */
export function openRestoreTarget(folders: Folders, roots: readonly Root[]): RestoreTarget {
  const marker = (root: Root) => join(folders[root], unfinishedRestoreName);
  requireUnused(folders);
  requireEmpty(folders, roots);
  for (const root of roots) removeRetired(folders[root]);
  const made = roots.flatMap((root) => missing(folders[root]));
  for (const root of roots) prepareFolder(folders[root], root);
  // The marker of the state folder is the first to come and the last to go.
  const hold = holdFolder(marker('state'), { code: 'restore_held', name: 'a restore' });
  const wasMoving = existsSync(join(marker('state'), movingName));
  let parts: HeldParts | null = null;
  try {
    parts = holdParts(folders.state);
    parts.mark();
    removeLeft(folders, roots);
    requireEmpty(folders, roots);
    for (const root of roots) makePrivateFolder(join(marker(root), root));
    for (const root of roots) syncFolder(folders[root]);
  } catch (error) {
    // Without a list of what is moved nothing is in its place yet.
    if (!wasMoving) unmark();
    dispose();
    throw error;
  }

  function unmark(): void {
    parts?.unmark();
    for (const root of roots.toReversed()) rmSync(marker(root), { recursive: true, force: true });
  }

  function dispose(): void {
    parts?.release();
    hold.release();
  }

  function publish(): void {
    const names = (root: Root) => (roots.includes(root) ? readdirSync(join(marker(root), root)) : []);
    const moving = { state: names('state'), config: names('config') };
    requireEmpty(folders, roots);
    writeFileDurably(join(marker('state'), movingName), `${JSON.stringify(moving)}\n`);
    crashPoint('restore.moving');
    for (const root of roots) {
      for (const name of moving[root]) {
        moveIntoPlace(join(marker(root), root, name), join(folders[root], name));
        crashPoint('restore.moved');
      }
      syncFolder(folders[root]);
    }
    crashPoint('restore.placed');
    if (roots.includes('config')) retire(marker('config'));
    parts?.unmark();
    retire(marker('state'));
    dispose();
  }

  return {
    staging: (root) => join(marker(root), root),
    publish,
    discard() {
      removeLeft(folders, roots);
      unmark();
      dispose();
      for (const folder of made) removeIfEmpty(folder);
    },
  };
}

/** In one step; what is left of it afterwards means nothing any more. */
function retire(marker: string): void {
  const retired = join(dirname(marker), `${basename(marker)}.done-${crypto.randomUUID()}`);
  renameSync(marker, retired);
  syncFolder(dirname(marker));
  crashPoint('restore.retired');
  rmSync(retired, { recursive: true, force: true });
}

/** Of restores that were cut off in their last step. */
function removeRetired(folder: string): void {
  for (const name of namesIn(folder))
    if (name.startsWith(`${unfinishedRestoreName}.done-`))
      rmSync(join(folder, name), { recursive: true, force: true });
}

/** What a restore that was cut off put into the folders; the files in its own folder are written again. */
function removeLeft(folders: Folders, roots: readonly Root[]): void {
  const moving = readMoving(join(folders.state, unfinishedRestoreName, movingName));
  for (const root of roots) {
    for (const name of moving[root]) removeFromPlace(join(folders[root], basename(name)));
    syncIfThere(folders[root]);
    rmSync(join(folders[root], unfinishedRestoreName, root), { recursive: true, force: true });
  }
  rmSync(join(folders.state, unfinishedRestoreName, movingName), { force: true });
}

function readMoving(path: string): t.TypeOf<typeof Moving> {
  if (!existsSync(path)) return { state: [], config: [] };
  return decodeJson(Moving, readSmallFile(path), path);
}

function requireUnused({ state }: Folders): void {
  const who = whoRunsIn(state);
  if (who === null) return;
  throw new Conflict('restore_in_use', `the state folder ${state} is in use by ${who}`, {
    hint: 'End it and move the folder away, or restore into a new one with --home DIR.',
  });
}

/** But for what a restore that was cut off put there, and folders without content. @throws Conflict (`restore_not_empty`) */
function requireEmpty(folders: Folders, roots: readonly Root[]): void {
  const moving = readMoving(join(folders.state, unfinishedRestoreName, movingName));
  for (const root of roots) {
    const found = namesIn(folders[root]).filter(
      (name) =>
        !name.startsWith(unfinishedRestoreName) &&
        !moving[root].includes(name) &&
        !isEmptyFolder(join(folders[root], name)),
    );
    if (found.length > 0) throw notEmpty(root, folders[root], found.toSorted());
  }
}

function notEmpty(root: Root, path: string, found: readonly string[]): Conflict {
  const rest = found.length > 3 ? ` and ${found.length - 3} more` : '';
  const hint =
    root === 'config'
      ? 'Restore into a new folder with --home DIR, or leave the configuration as it is with --state-only.'
      : 'Move it away, or restore into a new folder with --home DIR.';
  return new Conflict(
    'restore_not_empty',
    `the ${root} folder ${path} must be empty; it holds ${found.slice(0, 3).join(', ')}${rest}`,
    { facts: { path }, hint },
  );
}

function namesIn(path: string): string[] {
  return existsSync(path) && lstatSync(path).isDirectory() ? readdirSync(path) : [];
}

function syncIfThere(path: string): void {
  if (existsSync(path)) syncFolder(path);
}

/** Folders that have to be made for this one, itself first. */
function missing(path: string): string[] {
  return existsSync(path) ? [] : [path, ...missing(dirname(path))];
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Somebody uses it meanwhile.
  }
}

/** Folders of the state that one service each holds. */
const parts = ['context', 'model-gateway', 'bridge', 'bus'];

interface HeldParts {
  /** Their services do not start any more, also when this process has gone. */
  mark(): void;
  /** Their services may start, as soon as they are released. */
  unmark(): void;
  release(): void;
}

/**
 * Holds the parts that are there. In containers each is a disk of its own, whose service does not see what is in the state
 * folder itself, nor the restore its process.
 * @throws Conflict (`restore_in_use`) naming who holds one
 */
function holdParts(state: string): HeldParts {
  const folders = parts.map((name) => join(state, name)).filter(isFolder);
  const holds: FolderHold[] = [];

  function release(): void {
    for (const hold of holds.splice(0)) hold.release();
  }

  try {
    for (const folder of folders)
      holds.push(holdFolder(folder, { code: 'restore_in_use', name: 'what is restored', forRestore: true }));
  } catch (error) {
    release();
    throw error;
  }
  return {
    mark() {
      for (const folder of folders) {
        makePrivateFolder(join(folder, unfinishedRestoreName));
        syncFolder(folder);
      }
    },
    unmark() {
      for (const folder of folders) {
        rmSync(join(folder, unfinishedRestoreName), { recursive: true, force: true });
        syncFolder(folder);
      }
    },
    release,
  };
}

/** Who works with a state folder, as far as this process can see; null when nobody does. */
export function whoRunsIn(state: string): string | null {
  const stack = readStack(join(state, stackFolder, stackNoteName));
  if (stack !== null && isRunning(stack.holder) === true) {
    return `core up, process ${stack.holder.pid} on ${stack.holder.host}`;
  }
  for (const name of platformServices) {
    const running = runningService(name, { state });
    if (running !== null) return `${name} at ${running.url}`;
  }
  return null;
}

function readStack(path: string): StackNote | null {
  try {
    return decodeJson(StackNote, readSmallFile(path), path);
  } catch {
    return null;
  }
}
