import { forgetMemories, markWiped } from './forget-memory.ts';
import { importMemories, linkMemories } from './import-memories.ts';
import { recordMemory } from './record-memory.ts';
import { recordMemoryOutcome } from './record-outcome.ts';
import { rebuildMemoryIndex } from './signatures.ts';

/** See store/commands.ts. */
export const memoryCommands = {
  recordMemory,
  recordMemoryOutcome,
  forgetMemories,
  markWiped,
  importMemories,
  linkMemories,
  rebuildMemoryIndex,
} as const;
