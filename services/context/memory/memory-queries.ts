/** See record/read-queries.ts. */
export const memoryQueries = {} as const;
