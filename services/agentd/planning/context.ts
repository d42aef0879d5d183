import type { ContextPassage } from './planner.ts';

/** What the context service knows, for planning. Both reject with Unavailable when it is not there. */
export interface Context {
  search(query: string, repository: string, limit: number, signal: AbortSignal): Promise<ContextPassage[]>;
  lookup(
    query: string,
    layer: 'semantic' | 'episodic' | 'procedural',
    limit: number,
    signal: AbortSignal,
  ): Promise<ContextPassage[]>;
}
