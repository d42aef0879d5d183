import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CoreError, codeOf, DatabaseDiskFull, Failed, messageOf } from '../errors.ts';

/** Result codes of SQLite (sqlite.org/rescode.html). */
export const sqliteCodes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** The primary result code of what `node:sqlite` throws, which is the low byte of an extended one; null for other errors. */
export function sqliteCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** True if SQLite reports a damaged file. */
export function isSqliteDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === sqliteCodes.corrupt || code === sqliteCodes.notADatabase;
}

const notWritable = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EISDIR'];

/** Content of one of Core's SQLite files, for messages. */
export interface StoredThing {
  /** First part of its error codes: `queue` gives `queue_damaged` and `queue_newer`. */
  readonly codePrefix: string;
  /** Name, for example "the event queue". */
  readonly name: string;
  /** Hint of the error about a damaged file. */
  readonly whenDamaged: string;
}

/** Maps errors of SQLite and the file system about a database file. Returns other errors unchanged. */
export function storageError(
  error: unknown,
  path: string,
  { codePrefix, name, whenDamaged }: StoredThing,
): unknown {
  if (error instanceof CoreError) return error;
  // Core writes no integer that JavaScript cannot represent.
  if (isSqliteDamage(error) || codeOf(error) === 'ERR_OUT_OF_RANGE') {
    return new Failed(`${codePrefix}_damaged`, `${name} in ${path} is damaged: ${messageOf(error)}`, {
      cause: error,
      facts: { path },
      hint: whenDamaged,
    });
  }
  if (isDiskFull(error, dirname(path))) {
    return new DatabaseDiskFull(
      'disk_full',
      `the disk is full: ${name} in ${path} cannot be written (${messageOf(error)})`,
      {
        cause: error,
        retryAfter: 30,
        hint: 'Make room; the service then continues by itself. Acknowledged writes are kept.',
      },
    );
  }
  const code = sqliteCode(error);
  if (
    notWritable.includes(codeOf(error)) ||
    code === sqliteCodes.readOnly ||
    code === sqliteCodes.cannotOpen
  ) {
    return new Failed('state_not_writable', `${name} in ${path} is not writable: ${messageOf(error)}`, {
      cause: error,
      facts: { path },
      hint: 'Make the file and its folder writable for this user, or choose another folder with --home DIR.',
    });
  }
  if (code === sqliteCodes.ioError) {
    return new Failed('disk_failed', `the disk of ${path} fails: ${messageOf(error)}`, {
      cause: error,
      facts: { path },
      hint: 'See the system log for messages about that disk.',
    });
  }
  return error;
}

/** Bytes of free room below which a write of SQLite that failed has found no room. */
const minFreeBytes = 1024 * 1024;

/**
 * True for a write that the disk did not take, for want of room or quota. SQLite reports some of them as errors of the disk (of its
 * shared memory for one), so that the free room of `folder` decides those.
 */
export function isDiskFull(error: unknown, folder?: string): boolean {
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error))) return true;
  const code = sqliteCode(error);
  if (code === sqliteCodes.full) return true;
  return code === sqliteCodes.ioError && folder !== undefined && freeBytes(folder) < minFreeBytes;
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
