import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { LeaseHolder } from '#kit/contracts/lease-holder.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson } from '#kit/decode.ts';
import { syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Conflict, codeOf, Failed, InvalidInput, messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { isRunning, thisProcess } from '#kit/storage/process-identity.ts';

/** Where a backup comes to be: in a folder of its own beside its place, until it is whole. */
export interface BackupTarget {
  /** Empty, and gone after `publish` or `discard`. */
  readonly staging: string;
  /** Of the backup under way. */
  readonly part: string;
  /** Gives the part its name, which nobody else has. @returns its path; @throws Conflict (`backup_exists`) */
  publish(): string;
  discard(): void;
}

const stagingName = /^\.core-backup-[0-9a-f-]{36}\.partial$/;
const ownerName = 'owner.json';
/** Of folders whose owner cannot be seen from here, in milliseconds. */
const forgottenAfter = 24 * 3_600_000;

/**
 * @param given path of a file that does not exist, or of a folder, in which the backup gets a name with the time
 * @throws InvalidInput (`backup_folder_missing`, `backup_inside`), Conflict (`backup_exists`), Failed (`backup_not_writable`)
 */
export function openBackupTarget(given: string, folders: Folders, at: Date): BackupTarget {
  const path = resolve(given);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const folder = isFolder ? path : dirname(path);
  requireFolder(folder, folders);
  const names = isFolder ? timedNames(at) : [basename(path)];
  if (!isFolder) requireFree(path);
  const staging = join(folder, `.core-backup-${crypto.randomUUID()}.partial`);
  try {
    removeForgotten(folder);
    mkdirSync(staging, { mode: 0o700 });
    writeFileDurably(join(staging, ownerName), `${JSON.stringify(thisProcess())}\n`);
  } catch (cause) {
    throw new Failed('backup_not_writable', `no backup can be written to ${folder}: ${messageOf(cause)}`, {
      cause,
      facts: { folder, code: codeOf(cause) },
      hint: 'Choose a folder that you may write to, with room in it.',
    });
  }
  const part = join(staging, 'backup');
  const discard = () => rmSync(staging, { recursive: true, force: true });
  return {
    staging,
    part,
    publish() {
      const published = firstFree(part, folder, names);
      syncFolder(folder);
      crashPoint('backup.named');
      discard();
      return published;
    },
    discard,
  };
}

function firstFree(part: string, folder: string, names: Iterable<string>): string {
  for (const name of names) {
    const path = join(folder, name);
    try {
      nameFile(part, path);
      return path;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
  throw occupied(join(folder, [...names].at(-1)!));
}

/** A link, unlike a rename, never takes the place of a file that came meanwhile. @throws `EEXIST` */
function nameFile(part: string, path: string): void {
  try {
    linkSync(part, path);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error))) throw error;
    // A file system without links, as on many sticks.
    closeSync(openSync(path, 'wx', 0o600));
    renameSync(part, path);
  }
}

function timedNames(at: Date): string[] {
  const time = at.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '');
  const more = Array.from({ length: 99 }, (_, index) => `core-backup-${time}-${index + 2}.tar.gz`);
  return [`core-backup-${time}.tar.gz`, ...more];
}

function requireFolder(folder: string, { state, config }: Folders): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new InvalidInput('backup_folder_missing', `${folder} must be a folder that exists`, {
      hint: 'Make it first, on another disk than the state folder if you can.',
    });
  }
  for (const source of [state, config]) {
    if (!existsSync(source)) continue;
    const way = relative(realpathSync(source), realpathSync(folder));
    if (way.startsWith('..')) continue;
    throw new InvalidInput(
      'backup_inside',
      `${folder} lies in ${source}, which is backed up: must be a folder outside of it`,
    );
  }
}

function requireFree(path: string): void {
  if (existsSync(path)) throw occupied(path);
}

function occupied(path: string): Conflict {
  return new Conflict('backup_exists', `${path} exists already`, {
    hint: 'Choose another name, or give the folder: the backup then gets a name with the time.',
  });
}

/** What backups left that were cut off. */
function removeForgotten(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (stagingName.test(name) && isForgotten(path)) rmSync(path, { recursive: true, force: true });
  }
}

function isForgotten(staging: string): boolean {
  const running = ownerRuns(join(staging, ownerName));
  if (running !== null) return !running;
  const stats = statSync(staging, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > forgottenAfter;
}

function ownerRuns(path: string): boolean | null {
  try {
    return isRunning(decodeJson(LeaseHolder, readSmallFile(path), path));
  } catch {
    return null;
  }
}
