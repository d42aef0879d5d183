import { forgetMemories, markWiped } from './forget-memory.ts';
import { importMemories, linkMemories } from './import-memories.ts';
import { recordMemory, recordMemoryOutcome } from './record-memory.ts';
import { rebuildMemoryIndex } from './signatures.ts';

export const memoryCommands = {
  recordMemory,
  recordMemoryOutcome,
  forgetMemories,
  markWiped,
  importMemories,
  linkMemories,
  rebuildMemoryIndex,
} as const;
