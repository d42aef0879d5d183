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
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, Failed, InvalidInput, messageOf } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';

interface Owner {
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

/** As whom containers run by `.env`; null where it does not say, or says what nobody can be. */
export function readContainerUser(project: string): Owner | null {
  const path = join(project, '.env');
  const text = existsSync(path) ? readSmallFile(path) : '';
  const idOf = (name: string) =>
    new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*["']?(\\d{1,9})["']?\\s*$`, 'm').exec(text)?.[1];
  const [uid, gid] = [Number(idOf('CORE_UID') ?? 0), Number(idOf('CORE_GID') ?? 0)];
  return uid > 0 && gid > 0 ? { uid, gid } : null;
}

/**
 * Says to compose, in `.env` beside compose.yaml, as whom containers run; other lines stay, and who may read it. Gives the file's
 * path.
 */
export function writeContainerUser(project: string, owner: Owner): string {
  const named = join(project, '.env');
  const isThere = existsSync(named);
  const path = isThere ? realpathSync(named) : named;
  const before = isThere ? readSmallFile(path) : '';
  const kept = before.split('\n').filter((line) => !/^\s*(export\s+)?CORE_[UG]ID\s*=/.test(line));
  while (kept.at(-1) === '') kept.pop();
  const after = `${[...kept, `CORE_UID=${owner.uid}`, `CORE_GID=${owner.gid}`].join('\n')}\n`;
  if (after === before) return named;
  const stats = isThere ? statSync(path) : null;
  writeFileDurably(path, after, stats === null ? 0o600 : stats.mode & 0o777);
  giveFile(path, stats ?? owner);
  return named;
}

/** Files of the containers' configuration that their user may not read, as of a clone that was made with a narrow umask. */
export function unreadableConfig(project: string, { uid, gid }: Owner): string[] {
  const folder = join(project, 'config/compose');
  if (!existsSync(folder)) return [];
  const paths = [folder, ...readdirSync(folder).map((name) => join(folder, name))];
  return paths.filter((path) => {
    const stats = statSync(path);
    const needed = stats.isDirectory() ? 0o5 : 0o4;
    const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0;
    return ((stats.mode >> shift) & needed) !== needed;
  });
}

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
function giveFile(path: string, { uid, gid }: Owner): void {
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}
