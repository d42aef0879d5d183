import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  readdirSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failed, messageOf } from '#kit/errors.ts';
import type { Owner } from './owner.ts';

/** No link is followed, and nothing is waited for. */
const asItIs = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The folder and everything in it belongs to the user alone. Root does not hand out what lies elsewhere: links are left alone, and
 * what has other names is refused.
 * @throws Failed (`secrets_owner_refused`)
 */
export function givePrivately(folder: string, owner: Owner): void {
  try {
    give(folder, folder, owner);
  } catch (cause) {
    if (cause instanceof Failed) throw cause;
    throw refused(folder, `${folder} cannot be given to ${owner.uid}:${owner.gid}: ${messageOf(cause)}`, {
      cause,
      hint: 'Only root gives files to others: leave --owner out, or run this with sudo.',
    });
  }
}

/** @param shown how people know it; `path` goes through its open folder, so that nobody can put a link there meanwhile */
function give(path: string, shown: string, owner: Owner): void {
  let file: number;
  try {
    file = openSync(path, asItIs);
  } catch (error) {
    if (codeOf(error) === 'ELOOP') return;
    throw error;
  }
  try {
    const stats = fstatSync(file);
    if (stats.isDirectory()) {
      const inside = existsSync(`/proc/self/fd/${file}`) ? `/proc/self/fd/${file}` : path;
      for (const name of readdirSync(inside)) give(join(inside, name), join(shown, name), owner);
    }
    giveOne(file, stats, shown, owner);
  } finally {
    closeSync(file);
  }
}

function giveOne(file: number, stats: Stats, shown: string, { uid, gid }: Owner): void {
  const foreign = stats.uid !== uid || stats.gid !== gid;
  if (foreign && stats.isFile() && stats.nlink > 1)
    throw refused(shown, `${shown} has another name elsewhere (a hard link): must be a file of its own`, {
      hint: 'Remove it, and run ./core secrets init again.',
    });
  if (foreign) fchownSync(file, uid, gid);
  const mode = stats.isDirectory() ? 0o700 : 0o600;
  if ((stats.mode & 0o7777) !== mode) fchmodSync(file, mode);
}

function refused(
  path: string,
  message: string,
  more: { readonly cause?: unknown; readonly hint: string },
): Failed {
  return new Failed('secrets_owner_refused', message, {
    ...more,
    facts: { folder: path, code: codeOf(more.cause) },
  });
}

/** A file that was just written belongs to who owns the project. Root alone can give it. */
export function giveFile(path: string, { uid, gid }: Owner): void {
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}
