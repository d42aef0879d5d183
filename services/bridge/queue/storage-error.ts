import { CoreError, Failed, messageOf, Unavailable } from '#kit/errors.ts';
import { isSqliteDamage, sqliteCode, sqliteCodes } from '#kit/storage/sqlite-error.ts';

/** What SQLite says of the disk, in our words; everything else as it is. */
export function storageError(error: unknown, path: string): unknown {
  if (error instanceof CoreError) return error;
  if (isSqliteDamage(error)) {
    return new Failed('queue_damaged', `${path} is damaged: ${messageOf(error)}`, {
      cause: error,
      facts: { path },
      hint: 'Move it away to begin a new queue; dashboards have to send again what was pending.',
    });
  }
  const code = sqliteCode(error);
  if (code === sqliteCodes.full || code === sqliteCodes.ioError) {
    return new Unavailable('disk_full', `the disk of ${path} takes nothing: ${messageOf(error)}`, {
      cause: error,
      retryAfter: 30,
      hint: 'Make room; the service goes on by itself. What was answered with 202 is kept.',
    });
  }
  return error;
}
