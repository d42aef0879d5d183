import { realpathSync, rmSync, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** git holds a lock for milliseconds; one of this age was left by a crash. */
export const staleAfter = 10_000;

/**
 * Where git says that a lock of the repository on this machine is taken: waits until the lock is gone, or so old that a crash
 * must have left it, and removes it then. @returns whether trying again makes sense
 */
export async function clearStaleLock(url: string, stderr: string, signal?: AbortSignal): Promise<boolean> {
  const [, lock] = /Unable to create '([^\n]+\.lock)': File exists/.exec(stderr) ?? [];
  if (lock === undefined || !isInside(url, lock)) return false;
  const found = statOf(lock);
  if (found === undefined) return true;
  const age = Math.max(0, Date.now() - found.mtimeMs);
  if (age < staleAfter) await pause(staleAfter - age, undefined, signal === undefined ? {} : { signal });
  const present = statOf(lock);
  if (present === undefined) return true;
  if (present.ino !== found.ino || present.mtimeMs !== found.mtimeMs) return false;
  rmSync(lock, { force: true });
  return true;
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function isInside(url: string, lock: string): boolean {
  try {
    const folder = url.startsWith('file://') ? fileURLToPath(url) : url;
    if (!isAbsolute(folder) || !isAbsolute(lock)) return false;
    return `${realpathSync(dirname(lock))}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
  } catch {
    return false;
  }
}
