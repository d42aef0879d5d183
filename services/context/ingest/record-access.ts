import type { RefreshedRepository } from '#kit/contracts/context/refresh.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import type { ErrorCopy } from '../record/error-copy.ts';
import type { searchCommands } from '../search/history.ts';
import type { searchQueries } from '../search/search.ts';
import type { ingestCommands } from './ingest-commands.ts';
import type { ingestQueries } from './ingest-queries.ts';

export interface IngestTarget {
  readonly repository: string;
  /** As a person named it. */
  readonly path: string;
  readonly gitDir: string;
  /** null where there is none yet. */
  readonly commit: string | null;
  readonly full: boolean;
  readonly maxFileBytes: number;
  readonly historyCommits: number;
  /** Fingerprints of secrets that people found harmless; all others are masked. */
  readonly released: readonly string[];
  /** Blobs that broke the parser and are read as text alone. */
  readonly plainly: readonly string[];
}

export interface Progress {
  readonly done: number;
  /** Files to read in all. */
  readonly total: number;
  readonly path: string;
}

/** What an ingestion asks the record for. */
export type IngestQueries = typeof ingestQueries & typeof searchQueries;
/** What an ingestion writes. */
export type IngestCommands = typeof ingestCommands & typeof searchCommands;

/** What an ingestion needs of the record, whatever thread it runs in; it writes what it can read again. */
export type RecordAccess = RecordReader<IngestQueries> & RecordWriter<IngestCommands>;

/** From the thread of an ingestion. */
export type ThreadMessage =
  | {
      readonly type: 'ask' | 'write';
      readonly id: number;
      /** Of a query or of a command. */
      readonly name: string;
      readonly input: unknown;
    }
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'done'; readonly result: RefreshedRepository }
  | { readonly type: 'failed'; readonly error: ErrorCopy };
