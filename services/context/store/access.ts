import { type OpenRecord, openRecord as open } from '../record/open-record.ts';
import { ReaderPool } from '../record/reader-pool.ts';
import { type Idle, type Journal, SingleWriter } from '../record/single-writer.ts';
import type { WriteCommands } from './commands.ts';
import type { ReadQueries } from './queries.ts';
import { restoreSteps } from './restore.ts';
import { versions } from './schema.ts';

const readerThread = new URL('./reader-thread.ts', import.meta.url);
const writerThread = new URL('./writer-thread.ts', import.meta.url);

/** Readers of everything that the domains keep in the record. @param path of its SQLite file */
export class Readers extends ReaderPool<ReadQueries> {
  constructor(path: string, count?: number) {
    super(readerThread, path, { urgent: ['search', 'lookUpMemories'], ...(count && { count }) });
  }
}

/** The writer of everything that the domains keep in the record. @param path of its SQLite file */
export class Writer extends SingleWriter<WriteCommands> {
  constructor(path: string, readers?: Idle, journal?: Journal | null) {
    super(writerThread, path, readers, journal);
  }
}

/** Opens the record with what all domains keep in it. @param state folder of the state @throws what record/open-record.ts throws */
export function openRecord(state: string, log?: (message: string) => void): OpenRecord {
  return open(state, { versions, restoreSteps }, log);
}
