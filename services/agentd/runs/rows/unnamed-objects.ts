import type { Database } from '#kit/database/database.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';

/** How long an object may be written before nobody may name it any more. */
const writingTime = "interval '1 hour'";

/**
 * Deletes objects that no artifact names: of pruned runs, of replaced artifacts, of writers that died. What cannot be reached now goes
 * with the next pruning.
 */
export async function deleteUnnamed(database: Database, store: ObjectStore): Promise<void> {
  await database.query(
    `UPDATE run_objects SET state = 'going' WHERE state = 'begun' AND begun_at < clock_timestamp() - ${writingTime}`,
  );
  const going = await database.query<{ object: string }>(
    "SELECT object FROM run_objects WHERE state = 'going'",
  );
  for (const { object } of going) {
    await store.delete(object);
    await database.query('DELETE FROM run_objects WHERE object = $1', [object]);
  }
}
