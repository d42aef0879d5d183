import { CoreError, codeOf, Failed, messageOf, Unavailable } from '#kit/errors.ts';

/** Result codes of SQLite (https://www.sqlite.org/rescode.html), as `errcode` of what node:sqlite throws. */
const sqlite = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  notadb: 26,
};

const full = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const notWritable = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'];

/** What the system says about the state folder, as an error that says what to do. Errors of our own pass unchanged. */
export function storageError(error: unknown, stateDir: string): unknown {
  if (error instanceof CoreError) return error;
  const code = codeOf(error);
  const errcode = sqliteCode(error);
  if (full.includes(code) || errcode === sqlite.full) {
    return new Failed(
      'disk_full',
      `no room left for the state folder ${stateDir}; nothing was written (${messageOf(error)})`,
      {
        cause: error,
        hint: 'Free some space, for example with ./core prune --older-than 30d, and try again.',
      },
    );
  }
  if (notWritable.includes(code) || errcode === sqlite.readonly || errcode === sqlite.cantopen) {
    return new Failed(
      'state_not_writable',
      `the state folder ${stateDir} is not writable (${messageOf(error)})`,
      { cause: error, hint: 'Make it writable for this user, or name another one with CORE_STATE_DIR.' },
    );
  }
  if (errcode === sqlite.busy || errcode === sqlite.locked) {
    return new Unavailable(
      'run_store_busy',
      `another process keeps the run store of ${stateDir} locked; try again`,
      { cause: error, retryAfter: 1 },
    );
  }
  return error;
}

/** Whether the file is no usable database any more, so that an index has to be made anew. */
export function isBroken(error: unknown): boolean {
  const errcode = sqliteCode(error);
  return errcode === sqlite.corrupt || errcode === sqlite.notadb;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === sqlite.busy;
}

/** The primary result code: the low byte of an extended one. */
function sqliteCode(error: unknown): number | undefined {
  const errcode = (error as { errcode?: unknown }).errcode;
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
