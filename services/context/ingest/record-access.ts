import type { Inputs, Outputs } from '../record/calls.ts';
import type { searchCommands } from '../search/search-commands.ts';
import type { searchQueries } from '../search/search-queries.ts';
import type { ingestCommands } from './ingest-commands.ts';
import type { ingestQueries } from './ingest-queries.ts';

/** What an ingestion asks the record for. */
export type IngestQueries = typeof ingestQueries & typeof searchQueries;
/** What an ingestion writes. */
export type IngestCommands = typeof ingestCommands & typeof searchCommands;

/** What an ingestion needs of the record, whatever thread it runs in; it writes what it can read again. */
export interface RecordAccess {
  ask<Name extends keyof IngestQueries>(
    query: Name,
    input: Inputs<IngestQueries>[Name],
  ): Promise<Outputs<IngestQueries>[Name]>;
  write<Name extends keyof IngestCommands>(
    command: Name,
    input: Inputs<IngestCommands>[Name],
  ): Promise<Outputs<IngestCommands>[Name]>;
}
