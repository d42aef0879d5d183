import { learnChanges } from './history/history-commands.ts';
import { rebuildTexts } from './rebuild-texts.ts';

/** See store/commands.ts. */
export const searchCommands = { learnChanges, rebuildTexts } as const;
