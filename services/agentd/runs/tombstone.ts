import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, NonEmptyString, Sha256, Timestamp } from '#kit/decode.ts';
import { NotFound } from '#kit/errors.ts';
import { tombstoneName } from './run-folder.ts';

/** What is left of a pruned run: enough to compare the chain's head with the one in the pull request. */
export const Tombstone = t.strict({
  run_id: NonEmptyString,
  head: Sha256,
  events: t.number,
  status: t.string,
  pruned_at: Timestamp,
  forge: t.string,
  owner: t.string,
  repo: t.string,
  number: t.number,
});
export type Tombstone = t.TypeOf<typeof Tombstone>;

/** null where no run was pruned. A run is pruned once its event log is gone and the tombstone stands. */
export function readTombstone(runFolder: string): Tombstone | null {
  const path = join(runFolder, tombstoneName);
  if (!existsSync(path)) return null;
  return decodeJson(Tombstone, readFileSync(path, 'utf8'), path);
}

export function wasPruned(tombstone: Tombstone): NotFound {
  const { run_id, pruned_at, events, head, status } = tombstone;
  return new NotFound(
    'run_pruned',
    `run ${run_id} was pruned at ${pruned_at}; it was ${status}, with ${events} events up to ${head.slice(0, 12)}`,
    { facts: tombstone },
  );
}
