import { requireNoHolder } from '#kit/database/fenced-leases.ts';
import { MovedSchema } from '#kit/storage-move/moved-schema.ts';
import type { MoveOptions, OpenMoveParts } from '#kit/storage-move/part.ts';
import { openObjects } from './open-run-store.ts';
import { RunArtifacts } from './runs/rows/run-artifacts.ts';
import { agentdSchema } from './schema.ts';

/**
 * Runs and notifications. Not sign-ins: a person who signed out on one side would be signed in again with what the other side has kept
 * since an earlier move. Not leases, nor objects of a bucket: a file has the content of every artifact in its rows.
 * @throws Conflict (`lease_held`) while a process plans, executes or undoes a run
 */
export const openMoveParts: OpenMoveParts = async (options) => {
  const artifacts = new RunArtifacts(options.database, await openObjects(options.folders));
  return [new MovedRuns(options, artifacts)];
};

const notMoved = ['review_sessions', 'review_links', 'review_attempts', 'leases', 'run_objects'];

class MovedRuns extends MovedSchema {
  constructor(options: MoveOptions, artifacts: RunArtifacts) {
    super(
      {
        name: 'runs and notifications',
        schema: agentdSchema,
        notMoved,
        bytes: ['run_artifacts'],
        async asMoved(table, row) {
          if (table !== 'run_artifacts' || row.object === null) return row;
          const content = await artifacts.read(String(row.run_id), String(row.digest));
          return { ...row, content, object: null };
        },
      },
      options,
    );
  }

  override async prepare(): Promise<void> {
    await super.prepare();
    await requireNoHolder(this.source);
  }
}
