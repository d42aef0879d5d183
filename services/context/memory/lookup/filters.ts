import type { MemoryLayer } from '#kit/contracts/context/vocabulary.ts';

/** Which memories a lookup may find. */
export interface Filters {
  readonly layer: MemoryLayer | null;
  readonly session: string | null;
  /** null: of any entity. */
  readonly about: readonly string[] | null;
  /** null: now, and what happens later by somebody's clock as well. */
  readonly as_of: string | null;
}

export interface Condition {
  /** On `memories m`. */
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

export function conditionOf({ layer, session, about, as_of }: Filters): Condition {
  const parts: string[] = ['m.valid_to > ?'];
  const now = new Date().toISOString();
  const values: string[] = [as_of ?? now];
  const also = (sql: string, ...more: readonly string[]) => {
    parts.push(sql);
    values.push(...more);
  };
  if (as_of === null) also("(m.layer = 'episodic' OR m.valid_from <= ?)", now);
  else also('m.valid_from <= ?', as_of);
  if (layer !== null) also('m.layer = ?', layer);
  if (session !== null) also('m.session = ?', session);
  if (about !== null)
    also(
      'm.memory IN (SELECT memory FROM memory_about WHERE entity IN (SELECT value FROM json_each(?)))',
      JSON.stringify(about),
    );
  return { sql: parts.join(' AND '), values };
}
