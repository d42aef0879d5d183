/** See record/read-queries.ts. */
export const executionQueries = {} as const;
