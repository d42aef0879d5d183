import * as t from 'io-ts';
import { decodeJson, NonEmptyString, nullable, Sha256, Timestamp } from '#kit/decode.ts';
import { type CoreError, Failed, messageOf, NotFound } from '#kit/errors.ts';
import type { Run } from '../run.ts';

/** Remains of a pruned run. The head of its chain can be compared with the head in the pull request. */
export const Tombstone = t.strict({
  run_id: NonEmptyString,
  head: Sha256,
  events: t.number,
  status: t.string,
  pruned_at: Timestamp,
  forge: t.string,
  owner: t.string,
  repo: t.string,
  number: nullable(t.number),
});
export type Tombstone = t.TypeOf<typeof Tombstone>;

export function tombstoneOf({ run_id, head, status, request }: Run, pruned_at: string): Tombstone {
  const { forge, owner, repo, number } = request;
  return { run_id, head: head.hash, events: head.seq, status, pruned_at, forge, owner, repo, number };
}

/** @throws NotFound (`run_pruned`) if the run has a tombstone, Failed (`run_damaged`) if that cannot be read */
export function requireKept(runId: string, tombstone: string | null): void {
  if (tombstone !== null) throw prunedBy(runId, tombstone);
}

function prunedBy(runId: string, tombstone: string): CoreError {
  try {
    return wasPruned(decodeJson(Tombstone, tombstone, 'tombstone'));
  } catch (error) {
    return new Failed(
      'run_damaged',
      `run ${runId} was pruned, and its tombstone cannot be read: ${messageOf(error)}`,
      {
        cause: error,
        hint: 'Nothing else is left of a pruned run. A backup of the database from after its pruning has the tombstone.',
      },
    );
  }
}

export function wasPruned(tombstone: Tombstone): NotFound {
  const { run_id, pruned_at, events, head, status } = tombstone;
  return new NotFound(
    'run_pruned',
    `run ${run_id} was pruned at ${pruned_at}; it was ${status}, with ${events} events up to ${head.slice(0, 12)}`,
    { facts: tombstone },
  );
}
