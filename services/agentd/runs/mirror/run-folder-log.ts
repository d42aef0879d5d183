import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { withFileLock } from '#kit/storage/lock.ts';
import type { RunEvent } from '../event.ts';
import { soundEvents } from '../log/event-line.ts';
import { logName } from '../log/run-folder.ts';

/** A run's folder on this host. */
export interface MirrorPlace {
  readonly stateDir: string;
  readonly runId: string;
}

export function folderOf({ stateDir, runId }: MirrorPlace): string {
  return join(stateDir, 'runs', runId);
}

/** Sound events at the beginning of the folder's log; none without a log. */
export function mirroredEvents(place: MirrorPlace): readonly RunEvent[] {
  return logStats(place) === null ? [] : soundEvents(readFileSync(join(folderOf(place), logName))).events;
}

/** File status of the folder's log; null if it is not a regular file. */
export function logStats(place: MirrorPlace): Stats | null {
  try {
    const stats = lstatSync(join(folderOf(place), logName));
    return stats.isFile() ? stats : null;
  } catch {
    return null;
  }
}

/** Runs short, synchronous work while no other process of this host writes to a run's folder. */
export function writingFolders<T>(stateDir: string, work: () => T): T {
  return withFileLock(join(stateDir, 'runs.lock'), work);
}
