/** See record/read-queries.ts. */
export const ingestQueries = {} as const;
