import type { Database } from '#kit/database/database.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';

/** Maximum time for writing an object, in ms. Afterwards no artifact can name it. */
const writingMs = 3_600_000;

/**
 * Deletes objects that no artifact names: objects of pruned runs, of replaced artifacts, and of writers that died. The next pruning
 * deletes objects that cannot be reached now.
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
