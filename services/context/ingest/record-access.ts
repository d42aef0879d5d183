import type { InputOf, OutputOf } from '../record/writer.ts';
import type { ingestCommands } from './ingest-commands.ts';
import type { ingestQueries } from './ingest-queries.ts';

type Queries = typeof ingestQueries;
export type IngestQuery = keyof Queries;
export type IngestCommand = keyof typeof ingestCommands;
export type QueryInput<Q extends IngestQuery> = Parameters<Queries[Q]>[1];
export type QueryOutput<Q extends IngestQuery> = ReturnType<Queries[Q]>;

/** What an ingestion needs of the record, whatever thread it runs in. */
export interface RecordAccess {
  ask<Q extends IngestQuery>(query: Q, input: QueryInput<Q>): Promise<QueryOutput<Q>>;
  write<C extends IngestCommand>(command: C, input: InputOf<C>): Promise<OutputOf<C>>;
}
