import { rebuildTexts } from './rebuild-text.ts';

/** See write-commands.ts. */
export const recordCommands = { rebuildTexts } as const;
