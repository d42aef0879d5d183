import { MovedSchema } from '#kit/storage-move/moved-schema.ts';
import type { OpenMoveParts } from '#kit/storage-move/part.ts';
import { openObjects } from './open-run-store.ts';
import { runsPart } from './runs/move-runs.ts';
import { RunArtifacts } from './runs/rows/run-artifacts.ts';
import { agentdSchema } from './schema.ts';

/** Runs and notifications; sign-ins end. @throws Conflict (`lease_held`) while a process plans, executes or undoes a run */
export const openMoveParts: OpenMoveParts = async (options) => {
  const contents = new RunArtifacts(options.database, await openObjects(options.folders));
  return [await runsPart(options, contents), new MovedSchema(tables, options)];
};

/**
 * Whoever signed out on the one side would be signed in again with what the other one has kept since an earlier move: people sign in
 * again.
 */
const tables = {
  name: 'rows of notifications',
  schema: agentdSchema,
  notMoved: ['review_sessions', 'review_links', 'review_attempts'],
};
