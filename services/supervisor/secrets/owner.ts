import { type Stats, statSync } from 'node:fs';
import { InvalidInput, messageOf } from '#kit/errors.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Of the containers of a machine whose administrator says nothing else. */
const ordinary: Owner = { uid: 1000, gid: 1000 };

/**
 * Who the files belong to: as given; else whoever runs this; else, where that is root, as whom containers ran before, or the owner
 * of the project.
 * @throws InvalidInput (`owner_invalid`, `folder_invalid`)
 */
export function ownerOf(project: string, given: string | undefined, before: Owner | null): Owner {
  const { uid, gid } = folderAt(project);
  if (given !== undefined) return parsed(given);
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid !== 0) return own;
  if (before !== null) return before;
  return uid === 0 ? ordinary : { uid, gid };
}

function folderAt(project: string): Stats {
  let stats: Stats;
  try {
    stats = statSync(project);
  } catch (cause) {
    throw new InvalidInput('folder_invalid', `${project} cannot be read: ${messageOf(cause)}`, { cause });
  }
  if (stats.isDirectory()) return stats;
  throw new InvalidInput('folder_invalid', `${project} is no folder: must be the one with compose.yaml`);
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
