import { CoreError, codeOf, Failed, messageOf, Unavailable } from '#kit/errors.ts';
import { isDiskFull, sqliteCode, sqliteCodes } from '#kit/storage/storage-error.ts';

const notWritable = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'];

/** What the system says about any file that could not be written, as an error that says what to do; all else unchanged. */
export function diskError(error: unknown): unknown {
  if (error instanceof CoreError) return error;
  const code = codeOf(error);
  if (isDiskFull(error)) {
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
  if (isDiskFull(error, stateDir)) {
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
