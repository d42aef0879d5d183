import type { DatabaseSync } from 'node:sqlite';
import { product, vectorOf } from '../../vectors/vectors.ts';
import type { Condition } from './query.ts';

export interface QueryVector {
  readonly model: string;
  readonly vector: Float32Array;
}

/** So many that are most like the query can be found by that alone. */
const maxFound = 50;
/** Less is what any two texts have in common: in itself, and beside the most like one. */
const minScore = 0.25;
const minShare = 0.6;

/** The cosine of each memory that is like the query, by its number. */
export function vectorScores(
  db: DatabaseSync,
  { model, vector }: QueryVector,
  condition: Condition,
): ReadonlyMap<number, number> {
  const rows = db
    .prepare(
      `SELECT m.memory AS memory, v.vector AS vector FROM memory_vectors v JOIN memories m ON m.memory = v.memory
       WHERE v.model = ? AND ${condition.sql}`,
    )
    .iterate(model, ...condition.values) as Iterable<unknown> as Iterable<{
    memory: number;
    vector: Uint8Array;
  }>;
  const scores: [memory: number, score: number][] = [];
  for (const { memory, vector: bytes } of rows) {
    if (bytes.byteLength !== vector.byteLength) continue;
    const score = product(vector, vectorOf(bytes));
    if (score >= minScore) scores.push([memory, score]);
  }
  scores.sort((a, b) => b[1] - a[1]);
  const best = scores[0]?.[1] ?? 0;
  return new Map(scores.slice(0, maxFound).filter(([, score]) => score >= minShare * best));
}
