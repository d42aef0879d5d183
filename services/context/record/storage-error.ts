import { Failed, messageOf, Unavailable } from '#kit/errors.ts';
import { isSqliteDamage, sqliteCode, sqliteCodes } from '#kit/storage/sqlite-error.ts';

const { full, ioError } = sqliteCodes;

/** What SQLite says of the disk, in our words; everything else as it is. */
export function storageError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === full || (code === ioError && isWriting(error))) {
    return new Unavailable('disk_full', `the disk of the context record is full: ${messageOf(error)}`, {
      cause: error,
      retryAfter: 30,
      hint: 'Make room; the service goes on by itself. What was acknowledged is kept.',
    });
  }
  if (isSqliteDamage(error)) {
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
