import type { WriteCommands } from './commands.ts';

/**
 * Which commands are in a journal before they are performed, where several hosts share the record: nothing else holds what they say.
 * The others write what repositories and models say again, or what concerns the files of one host.
 */
export const journaled: Readonly<Record<keyof WriteCommands, boolean>> = {
  recordMemory: true,
  recordMemoryOutcome: true,
  forgetMemories: true,
  importMemories: true,
  recordPlan: true,
  recordOutcome: true,
  noteRunMemories: true,
  markWiped: false,
  linkMemories: false,
  rebuildMemoryIndex: false,
  beginIngestion: false,
  storeFiles: false,
  closeFiles: false,
  closeDirectories: false,
  linkFiles: false,
  finishIngestion: false,
  learnChanges: false,
  rebuildTexts: false,
  storeVectors: false,
};
