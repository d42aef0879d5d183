import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from '../record/graph-record.ts';

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

/**
 * What an embeddings model made of memories; it can be made again. `vector` is of length 1, as 32-bit floats in the machine's order;
 * empty where the model refused the text. Forgetting a memory takes its vector along.
 */
export const vectorTables = `
  CREATE TABLE memory_vectors (
    memory INTEGER PRIMARY KEY REFERENCES memories (memory) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL
  ) STRICT;
`;

interface NewVectors {
  readonly model: string;
  readonly vectors: readonly { readonly memory: number; readonly vector: Uint8Array }[];
}

/** Those of memories that were forgotten meanwhile are left out. @returns how many were stored */
function storeVectors(record: GraphRecord, { model, vectors }: NewVectors): number {
  const store = record.prepare(
    `INSERT OR REPLACE INTO memory_vectors (memory, model, vector)
     SELECT memory, ?, ? FROM memories WHERE memory = ?`,
  );
  return vectors.reduce(
    (sum, { memory, vector }) => sum + Number(store.run(model, vector, memory).changes),
    0,
  );
}

/** See store/commands.ts. */
export const vectorCommands = { storeVectors } as const;
