import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { codeOf, Failed, messageOf } from './errors.ts';

/**
 * Makes a new folder below `TMPDIR`, or `/tmp`, which only this user can enter.
 * @throws Failed (`temporary_folder_unusable`); a full disk as the system reports it
 */
export function makeTemporaryFolder(prefix: string): string {
  const parent = tmpdir();
  if (!isAbsolute(parent)) throw unusable(parent, 'must be an absolute path');
  try {
    return mkdtempSync(join(parent, prefix));
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOSPC' || code === 'EDQUOT') throw cause;
    throw unusable(parent, reasons[code] ?? messageOf(cause), cause);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'it is not a folder',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
};

function unusable(path: string, reason: string, cause?: unknown): Failed {
  return new Failed('temporary_folder_unusable', `the temporary folder ${path} cannot be used: ${reason}`, {
    cause,
    facts: { path },
    hint: 'Set TMPDIR to an existing folder where this user can write, or unset it to use /tmp.',
  });
}
