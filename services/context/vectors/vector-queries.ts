import type { DatabaseSync } from 'node:sqlite';

/** A model reads no more characters of one memory. */
const longestText = 8_000;

export interface TextWithoutVector {
  readonly memory: number;
  readonly text: string;
}

/** Memories that this model has made no vector of, the newest first. */
export function memoriesWithoutVector(
  db: DatabaseSync,
  { model, limit }: { readonly model: string; readonly limit: number },
): TextWithoutVector[] {
  const rows = db
    .prepare(
      `SELECT m.memory, m.content, m.context FROM memories m
       LEFT JOIN memory_vectors v ON v.memory = m.memory AND v.model = ?
       WHERE v.memory IS NULL ORDER BY m.memory DESC LIMIT ?`,
    )
    .all(model, limit) as { memory: number; content: string; context: string }[];
  return rows.map(({ memory, content, context }) => ({
    memory,
    text: `${content}\n${context}`.slice(0, longestText).toWellFormed(),
  }));
}

/** See store/queries.ts. */
export const vectorQueries = { memoriesWithoutVector } as const;
