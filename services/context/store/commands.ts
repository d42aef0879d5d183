import { executionCommands } from '../execution/execution-commands.ts';
import { ingestCommands } from '../ingest/ingest-commands.ts';
import { memoryCommands } from '../memory/memory-commands.ts';
import { searchCommands } from '../search/history.ts';
import { vectorCommands } from '../vectors/vectors.ts';

/** Everything that the writer of the record can be asked; each domain brings its own. */
export const writeCommands = {
  ...ingestCommands,
  ...searchCommands,
  ...memoryCommands,
  ...executionCommands,
  ...vectorCommands,
} as const;

export type WriteCommands = typeof writeCommands;
