import { lstatSync, readFileSync } from 'node:fs';
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

/** The events of the folder's log up to the first that does not hold; none without a log. */
export function mirroredEvents(place: MirrorPlace): readonly RunEvent[] {
  const path = join(folderOf(place), logName);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? soundEvents(readFileSync(path)).events : [];
}

/** Runs short, synchronous work while no other process of this host writes to a run's folder. */
export function writingFolders<T>(stateDir: string, work: () => T): T {
  return withFileLock(join(stateDir, 'runs.lock'), work);
}
