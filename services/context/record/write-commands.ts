import { executionCommands } from '../execution/execution-commands.ts';
import { graphCommands } from '../graph/graph-commands.ts';
import { ingestCommands } from '../ingest/ingest-commands.ts';
import { memoryCommands } from '../memory/memory-commands.ts';
import { searchCommands } from '../search/search-commands.ts';
import { vectorCommands } from '../vectors/vector-commands.ts';
import { recordCommands } from './record-commands.ts';

/**
 * What the writer's thread can be asked, by name: `(record, input) => output`, synchronous, inside a transaction. Input and output
 * are plain data. Each domain brings its own.
 */
export const writeCommands = {
  ...recordCommands,
  ...ingestCommands,
  ...searchCommands,
  ...memoryCommands,
  ...executionCommands,
  ...graphCommands,
  ...vectorCommands,
} as const;

export type WriteCommands = typeof writeCommands;
