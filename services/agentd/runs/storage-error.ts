import { statfsSync } from 'node:fs';
import { CoreError, codeOf, Failed, messageOf, Unavailable } from '#kit/errors.ts';
import { sqliteCode, sqliteCodes } from '#kit/storage/sqlite-error.ts';

const full = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const notWritable = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'];

/** What the system says about any file that could not be written, as an error that says what to do; all else unchanged. */
export function diskError(error: unknown): unknown {
  if (error instanceof CoreError) return error;
  const code = codeOf(error);
  if (full.includes(code)) {
    return new Failed('disk_full', `the disk is full (${messageOf(error)})`, {
      cause: error,
      hint: 'Free some space and try again.',
    });
  }
  if (notWritable.includes(code)) {
    return new Failed('not_writable', `a file or folder is not writable (${messageOf(error)})`, {
      cause: error,
      hint: 'Make it writable for this user and try again.',
    });
  }
  return error;
}

/** What the system says about the state folder, as an error that says what to do. Errors of our own pass unchanged. */
export function storageError(error: unknown, stateDir: string): unknown {
  if (error instanceof CoreError) return error;
  const code = codeOf(error);
  const errcode = sqliteCode(error);
  if (
    full.includes(code) ||
    errcode === sqliteCodes.full ||
    (errcode === sqliteCodes.ioError && isFull(stateDir))
  ) {
    return new Failed(
      'disk_full',
      `no room left for the state folder ${stateDir}; nothing was written (${messageOf(error)})`,
      {
        cause: error,
        hint: 'Free some space and try again. Later ./core prune --older-than 30d frees more.',
      },
    );
  }
  if (notWritable.includes(code) || errcode === sqliteCodes.readOnly || errcode === sqliteCodes.cannotOpen) {
    return new Failed(
      'state_not_writable',
      `the state folder ${stateDir} is not writable (${messageOf(error)})`,
      { cause: error, hint: 'Make it writable for this user, or name another one with CORE_STATE_DIR.' },
    );
  }
  if (errcode === sqliteCodes.busy || errcode === sqliteCodes.locked) {
    return new Unavailable(
      'run_store_busy',
      `another process keeps the run store of ${stateDir} locked; try again`,
      { cause: error, retryAfter: 1 },
    );
  }
  if (errcode === sqliteCodes.ioError) {
    return new Failed('disk_failed', `the disk of the state folder ${stateDir} fails (${messageOf(error)})`, {
      cause: error,
      hint: 'Look at the messages of the system about that disk.',
    });
  }
  return error;
}

/** SQLite needs this much for its shared memory before it can even read, and calls the lack of it an I/O error. */
const minRoom = 64 * 1024;

function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < minRoom;
  } catch {
    return false;
  }
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === sqliteCodes.busy;
}
