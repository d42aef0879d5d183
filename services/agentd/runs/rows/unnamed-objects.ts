import type { Database } from '#kit/database/database.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';

/** Time that writing an object may take, in ms; later it can no longer be named. */
const writingMs = 3_600_000;

/**
 * Deletes objects that no artifact names: of pruned runs, of replaced artifacts, of writers that died. What cannot be reached now goes
 * with the next pruning.
 */
export async function deleteUnnamed(database: Database, store: ObjectStore): Promise<void> {
  await database.write(
    "UPDATE run_objects SET state = 'going' WHERE state = 'begun' AND begun_at < core_clock_ms() - $1",
    [writingMs],
  );
  const going = await database.query<{ object: string }>(
    "SELECT object FROM run_objects WHERE state = 'going'",
  );
  for (const { object } of going) {
    await store.delete(object);
    await database.write('DELETE FROM run_objects WHERE object = $1', [object]);
  }
}
