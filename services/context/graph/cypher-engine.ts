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

/** The largest reply, in bytes of JSON: more would hold up other callers. */
export const maxReplyBytes = 8 * 1024 * 1024;

/** Where Cypher runs. Read only, whatever the text says. */
export interface CypherEngine {
  /**
   * @throws InvalidInput (`cypher_invalid`) with line and column; Refused (`cypher_read_only`, `cypher_not_supported`,
   * `cypher_too_slow`, `cypher_too_large`); Unavailable (`cypher_unavailable`, `cypher_busy`, `projection_loading`)
   */
  query(call: CypherCall): Promise<CypherReply>;
  health(): Promise<EngineHealth>;
}

/**
 * A value of a reply as both engines give it: whole numbers beyond 2^53 and what is no number as text.
 * @param ownOf what a value that only the engine at hand knows looks like; undefined for any other
 */
export function plainValue(value: unknown, ownOf: (value: object) => unknown): unknown {
  const plain = (each: unknown) => plainValue(each, ownOf);
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value !== 'object') return value ?? null;
  if (Array.isArray(value)) return value.map(plain);
  const own = ownOf(value);
  if (own !== undefined) return own;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

export function byName(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1)));
}
