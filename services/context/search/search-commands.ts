/** See record/write-commands.ts. */
export const searchCommands = {} as const;
