import type { DatabaseSync } from 'node:sqlite';
import type { MemoryRow } from '../memory-row.ts';
import { isTurn } from '../remembered.ts';
import type { Condition } from './filters.ts';

/** What a turn gets of the score of the one that stands so to it. */
const shares = { previous: 0.4, next: 0.2, previous_2: 0.15, next_2: 0.1 } as const;
export type Relation = keyof typeof shares;

export interface NeighbourBoost {
  readonly relation: Relation;
  readonly id: string;
  readonly score: number;
}

export interface Neighbourhood {
  /** By the memory that gets it. */
  readonly boosts: ReadonlyMap<number, readonly NeighbourBoost[]>;
  /** Those who get something and are found by it alone. */
  readonly rows: readonly MemoryRow[];
}

/** What turns get from the turns before and after them in their session. */
export function neighboursOf(
  db: DatabaseSync,
  scored: readonly { readonly row: MemoryRow; readonly score: number }[],
  condition: Condition,
): Neighbourhood {
  const before = db.prepare(
    'SELECT memory FROM memories WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT 2',
  );
  const after = db.prepare('SELECT memory FROM memories WHERE session = ? AND seq > ? ORDER BY seq LIMIT 2');
  const boosts = new Map<number, NeighbourBoost[]>();
  for (const { row, score } of scored) {
    if (!isTurn(row) || row.seq === null) continue;
    const pass = (to: { memory: number } | undefined, relation: Relation) => {
      if (to === undefined) return;
      const boost = { relation, id: row.id, score: shares[relation] * score };
      boosts.set(to.memory, [...(boosts.get(to.memory) ?? []), boost]);
    };
    const [back, back2] = before.all(row.session, row.seq) as { memory: number }[];
    const [ahead, ahead2] = after.all(row.session, row.seq) as { memory: number }[];
    pass(ahead, 'previous');
    pass(ahead2, 'previous_2');
    pass(back, 'next');
    pass(back2, 'next_2');
  }
  const known = new Set(scored.map(({ row }) => row.memory));
  const others = [...boosts.keys()].filter((memory) => !known.has(memory));
  const rows = db
    .prepare(
      `SELECT m.* FROM memories m WHERE m.memory IN (SELECT value FROM json_each(?)) AND ${condition.sql}`,
    )
    .all(JSON.stringify(others), ...condition.values) as unknown as MemoryRow[];
  return { boosts, rows };
}
