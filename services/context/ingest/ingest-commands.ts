/** See record/write-commands.ts. */
export const ingestCommands = {} as const;
