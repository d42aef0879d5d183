import { Failed, messageOf, Unavailable } from '#kit/errors.ts';

/** Result codes of SQLite (sqlite.org/rescode.html); the low byte of an extended one is its primary one. */
const corrupt = 11;
const full = 13;
const notADatabase = 26;
const ioError = 10;

/** Whether SQLite says that the file's content cannot be what it wrote. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === corrupt || code === notADatabase;
}

/** What SQLite says of the disk, in our words; everything else as it is. */
export function storageError(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === full || (code === ioError && isWriting(error))) {
    return new Unavailable('disk_full', `the disk of the context record is full: ${messageOf(error)}`, {
      cause: error,
      retryAfter: 30,
      hint: 'Make room; the service goes on by itself. What was acknowledged is kept.',
    });
  }
  if (isDamage(error)) {
    return new Failed('record_damaged', `the context record is damaged: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return error;
}

/** Extended codes of writes, syncs, truncations and shared memory that the disk did not take. */
function isWriting(error: unknown): boolean {
  const extended = (error as { errcode?: number }).errcode ?? 0;
  const [write, fsync, directorySync, truncate, sharedMemorySize] = [3, 4, 5, 6, 19].map(
    (n) => ioError | (n << 8),
  );
  return [write, fsync, directorySync, truncate, sharedMemorySize].includes(extended);
}

function primaryCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}
