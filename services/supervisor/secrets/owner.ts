import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failed, InvalidInput, messageOf } from '#kit/errors.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Of the containers of a machine whose administrator says nothing else. */
const ordinary: Owner = { uid: 1000, gid: 1000 };

/**
 * Who the files belong to: as given; else whoever runs this; else, where that is root, the owner of the project.
 * @throws InvalidInput (`owner_invalid`)
 */
export function ownerOf(project: string, given: string | undefined): Owner {
  if (given !== undefined) return parsed(given);
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid !== 0) return own;
  const { uid, gid } = folderOwner(project);
  return uid === 0 ? ordinary : { uid, gid };
}

/** The folder and everything in it belongs to the user alone. @throws Failed (`secrets_owner_refused`) */
export function givePrivately(folder: string, owner: Owner): void {
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (entry.isSymbolicLink()) continue;
      const path = join(entry.parentPath, entry.name);
      give(path, owner, entry.isDirectory() ? 0o700 : 0o600);
    }
    give(folder, owner, 0o700);
  } catch (cause) {
    throw new Failed(
      'secrets_owner_refused',
      `${folder} cannot be given to ${owner.uid}:${owner.gid}: ${messageOf(cause)}`,
      {
        cause,
        facts: { folder, code: codeOf(cause) },
        hint: 'Only root gives files to others: leave --owner out, or run this with sudo.',
      },
    );
  }
}

function give(path: string, { uid, gid }: Owner, mode: number): void {
  const stats = statSync(path);
  if (stats.uid !== uid || stats.gid !== gid) chownSync(path, uid, gid);
  if ((stats.mode & 0o777) !== mode) chmodSync(path, mode);
}

function folderOwner(project: string): Owner {
  try {
    return statSync(project);
  } catch (cause) {
    throw new InvalidInput('folder_invalid', `${project} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function parsed(text: string): Owner {
  const [, uid, gid] = /^(\d{1,9}):(\d{1,9})$/.exec(text) ?? [];
  if (uid !== undefined && gid !== undefined && Number(uid) > 0)
    return { uid: Number(uid), gid: Number(gid) };
  throw new InvalidInput(
    'owner_invalid',
    `--owner is '${text}': must be UID:GID in numbers, and not root, for example 1000:1000`,
  );
}
