import { CoreError, codeOf, messageOf, Unavailable } from '#kit/errors.ts';
import { sqliteCode, sqliteCodes } from '#kit/storage/sqlite-error.ts';

/** What the system says of a full disk, in our words; everything else as it is. */
export function diskError(error: unknown, folder: string): unknown {
  if (error instanceof CoreError) return error;
  const isFull = ['ENOSPC', 'EDQUOT'].includes(codeOf(error)) || sqliteCode(error) === sqliteCodes.full;
  if (!isFull) return error;
  return new Unavailable('disk_full', `the disk of ${folder} is full: ${messageOf(error)}`, {
    cause: error,
    facts: { folder },
    hint: 'Make room, then do it again; what was written so far is gone.',
  });
}
