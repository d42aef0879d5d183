import { scorePaths } from './score-paths.ts';

/** See record/read-queries.ts. */
export const executionQueries = { scorePaths } as const;
