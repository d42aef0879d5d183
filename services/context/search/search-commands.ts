import { learnChanges } from './history/history-commands.ts';

/** See record/write-commands.ts. */
export const searchCommands = { learnChanges } as const;
