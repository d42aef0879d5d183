/** See record/write-commands.ts. */
export const executionCommands = {} as const;
