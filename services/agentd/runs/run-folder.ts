import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { Failed } from '#kit/errors.ts';

/** What lies in a run folder beside its views. */
export const logName = 'events.jsonl';
export const artifactsName = 'artifacts';
export const tombstoneName = 'tombstone.json';

/** A pipe or a device in place of the log would be read forever, and what a link leads to is not ours. @throws Failed (`run_damaged`) */
export function requireLogFile(runId: string, folder: string): void {
  const stats = lstatSync(join(folder, logName), { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return;
  throw new Failed('run_damaged', `run ${runId} cannot be read: ${logName} is not a file`);
}
