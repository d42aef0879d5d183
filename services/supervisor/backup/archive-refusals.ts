import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { InvalidInput, messageOf } from '#kit/errors.ts';

/** Why a file is not taken for a backup. */

export function foreign(path: string, cause?: unknown): InvalidInput {
  return new InvalidInput(
    'backup_foreign',
    `${path} is no backup of Core: must be a file that ./core backup wrote`,
    {
      cause,
    },
  );
}

export function truncated(path: string): InvalidInput {
  return new InvalidInput('backup_truncated', `${path} ends too early: its last part is missing`, {
    hint: 'Copy it once more from where it was made, or take another backup.',
  });
}

export function damaged(path: string, what: string, cause?: unknown): InvalidInput {
  return new InvalidInput('backup_damaged', `${path} is damaged: ${what}`, {
    cause,
    hint: 'Copy it once more from where it was made, or take another backup.',
  });
}

/** @throws InvalidInput (`file_unreadable`) */
export async function requireReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
    if (!(await stat(path)).isFile()) throw new Error('it is not a file');
  } catch (cause) {
    throw new InvalidInput('file_unreadable', `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
