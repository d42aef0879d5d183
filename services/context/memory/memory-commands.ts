import { forgetMemories, markWiped } from './forget-memory.ts';
import { importMemories, linkMemories } from './import-memories.ts';
import { rebuildMemoryIndex } from './rebuild-index.ts';
import { recordMemory, recordMemoryOutcome } from './record-memory.ts';

export const memoryCommands = {
  recordMemory,
  recordMemoryOutcome,
  forgetMemories,
  markWiped,
  importMemories,
  linkMemories,
  rebuildMemoryIndex,
} as const;
