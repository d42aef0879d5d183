import type { OpenMoveParts } from '#kit/storage-move/part.ts';
import { notificationParts } from './notifications/moved-tables.ts';
import { openObjects } from './open-run-store.ts';
import { signInsPart } from './review/sign-ins-part.ts';
import { runsPart } from './runs/move-runs.ts';
import { RunArtifacts } from './runs/postgres/run-artifacts.ts';

/** Runs and notifications; sign-ins end. @throws Conflict (`lease_held`) while a process plans, executes or undoes a run */
export const openMoveParts: OpenMoveParts = async (options) => {
  const contents = new RunArtifacts(options.database, await openObjects(options.folders));
  const runs = await runsPart(options, contents);
  try {
    return [runs, ...(await notificationParts(options)), signInsPart(options)];
  } catch (error) {
    await runs.close();
    throw error;
  }
};
