import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { Conflict } from '../errors.ts';
import { shellWord } from '../shell-word.ts';

/** Git and jj name the lock file, or the file that it is for. */
const taken = [
  /^.*Unable to create '([^\n]+\.lock)': File exists/m,
  /^.*could not lock config file ([^\n]+): File exists/m,
  /^.*lockfile at '([^\n]+\.lock)' might need manual deletion/m,
];

/**
 * The lock file that a failed git or jj names as taken; null if it failed for another reason.
 * @param cwd folder of the program, where a relative name starts
 */
export function takenLock(stderr: string, cwd = '/'): string | null {
  for (const form of taken) {
    const [, name] = form.exec(stderr) ?? [];
    if (name !== undefined) return resolve(cwd, name.endsWith('.lock') ? name : `${name}.lock`);
  }
  return null;
}

/** Says who holds a lock file of this machine, or that it is stale, and what to do; null if the file is gone. */
export function lockedRepository(
  lock: string,
  facts: Readonly<Record<string, unknown>> = {},
): Conflict | null {
  const found = statSync(lock, { throwIfNoEntry: false });
  if (found === undefined) return null;
  const holder = lockHolder(lock);
  if (holder !== null) {
    return new Conflict('repository_locked', `${holder} holds the lock ${lock}`, {
      facts: { ...facts, lock },
      hint: 'Wait until that process ends, or end it. Then try again.',
    });
  }
  return new Conflict(
    'repository_locked',
    `the lock ${lock} is in the way: made ${ageOf(found)} ago by user ${found.uid}, and no running git is seen to hold it`,
    {
      facts: { ...facts, lock },
      hint: `If no git works in that repository, also not in a container or on another host, the lock is stale. Remove it and try again:\nrm ${shellWord(lock)}`,
    },
  );
}

/**
 * The process that holds a lock file, for example `git commit (pid 1234)`: it has the file open, or is a git or jj that works in that
 * repository. null where none is seen, as on systems without `/proc`.
 */
export function lockHolder(lock: string): string | null {
  const repository = dirname(lock.replace(/(?<=\/\.git\/).*$/, ''));
  let near: string | null = null;
  for (const pid of entriesOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const folder = `/proc/${pid}`;
    if (entriesOf(`${folder}/fd`).some((fd) => linkOf(`${folder}/fd/${fd}`) === lock)) return nameOf(pid);
    const command = commandOf(pid);
    if (near !== null || !/^(?:\S*\/)?(?:git|jj)(?:-\S+)?$/.test(command[0] ?? '')) continue;
    if (`${linkOf(`${folder}/cwd`)}${sep}`.startsWith(`${repository}${sep}`)) near = nameOf(pid);
  }
  return near;
}

function nameOf(pid: string): string {
  const words = commandOf(pid).map((word) => word.replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}'));
  // Arguments can hold secrets.
  const subcommand = words.slice(1).find((word) => /^[a-z][a-z-]*$/.test(word));
  const name = words[0]?.split('/').at(-1) ?? 'a process';
  return `${[name, ...(/^(git|jj)$/.test(name) && subcommand !== undefined ? [subcommand] : [])].join(' ')} (pid ${pid})`;
}

function commandOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function ageOf({ mtimeMs }: Stats): string {
  const seconds = Math.max(0, Math.round((Date.now() - mtimeMs) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
