/** See record/write-commands.ts. */
export const memoryCommands = {} as const;
