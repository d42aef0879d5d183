/** See record/read-queries.ts. */
export const searchQueries = {} as const;
