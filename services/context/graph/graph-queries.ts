/** See record/read-queries.ts. */
export const graphQueries = {} as const;
