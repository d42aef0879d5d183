/** See record/write-commands.ts. */
export const graphCommands = {} as const;
