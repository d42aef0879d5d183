import type { CypherReply } from '#kit/contracts/context/cypher.ts';

export interface CypherCall {
  readonly query: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Rows of the reply at most. */
  readonly limit: number;
  /** Who asks; callers share the engine fairly. */
  readonly caller: string;
  readonly signal?: AbortSignal;
}

export interface EngineHealth {
  readonly status: 'ok' | 'degraded';
  readonly detail: string;
  /** What the projection has not seen of the record, and for how many seconds it has been behind. */
  readonly lag: { readonly changes: number; readonly seconds: number };
}

/** Limits of one query. */
export interface CypherLimits {
  /** Of waiting for a place and running together. */
  readonly seconds: number;
  /** Megabytes of the embedded engine. */
  readonly memory_mb: number;
}

/** The largest reply, in bytes of JSON: more would hold up whoever else the service answers. */
export const largestReply = 8 * 1024 * 1024;

/** Where Cypher runs. Read only, whatever the text says. */
export interface CypherEngine {
  /**
   * @throws InvalidInput (`cypher_invalid`) with line and column; Refused (`cypher_read_only`, `cypher_not_supported`,
   * `cypher_too_slow`, `cypher_too_large`); Unavailable (`cypher_unavailable`, `cypher_busy`, `projection_loading`)
   */
  query(call: CypherCall): Promise<CypherReply>;
  health(): Promise<EngineHealth>;
}
