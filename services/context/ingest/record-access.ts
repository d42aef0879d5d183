import type { ReadQueries } from '../record/read-queries.ts';
import type { InputOf, OutputOf, WriteCommand } from '../record/writer.ts';

/** What an ingestion needs of the record, whatever thread it runs in; it writes what it can read again. */
export interface RecordAccess {
  ask<Q extends keyof ReadQueries>(
    query: Q,
    input: Parameters<ReadQueries[Q]>[1],
  ): Promise<ReturnType<ReadQueries[Q]>>;
  write<C extends WriteCommand>(command: C, input: InputOf<C>): Promise<OutputOf<C>>;
}
