import { requireNoHolder } from '#kit/database/fenced-leases.ts';
import { Conflict } from '#kit/errors.ts';
import { MovedSchema } from '#kit/storage-move/moved-schema.ts';
import type { MoveOptions, OpenMoveParts } from '#kit/storage-move/part.ts';
import { openObjects } from './open-run-store.ts';
import { recordInRows } from './runs/rows/record-in-rows.ts';
import { RunArtifacts } from './runs/rows/run-artifacts.ts';
import { stateOf } from './runs/verify/recover.ts';
import { agentdSchema } from './schema.ts';

/**
 * Moves runs and notifications. Leaves out sign-ins: rows kept from an earlier move would sign in a person who has signed out since.
 * Leaves out leases, and rows of bucket objects, because a file has the content of every artifact in its rows.
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

  /** @throws Conflict (`lease_held`, `run_not_whole`) */
  override async prepare(): Promise<void> {
    await super.prepare();
    await requireNoHolder(this.source);
    const runs = await this.source.query<{ run_id: string }>(
      "SELECT run_id FROM runs WHERE status <> 'pruned' ORDER BY run_id",
    );
    const problems: string[] = [];
    for (const { run_id } of runs) {
      const { problem } = stateOf(await recordInRows(this.source, run_id));
      if (problem !== null) problems.push(`${run_id}: ${problem}`);
    }
    if (problems.length > 0) throw notWhole(problems);
  }
}

function notWhole(problems: readonly string[]): Conflict {
  const more = problems.length > 3 ? ` (and ${problems.length - 3} more)` : '';
  return new Conflict(
    'run_not_whole',
    `${problems.length} of the runs cannot be moved as they were acknowledged: ${problems.slice(0, 3).join('; ')}${more}`,
    {
      facts: { problems: problems.slice(0, 100) },
      hint: './core verify RUN shows what was changed, and ./core recover RUN shows how to continue.',
    },
  );
}
