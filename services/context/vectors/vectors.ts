import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from '../record/graph-record.ts';

/** A model reads no more characters of one memory. */
const maxTextLength = 8_000;

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
    text: `${content}\n${context}`.slice(0, maxTextLength).toWellFormed(),
  }));
}

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

export const vectorCommands = { storeVectors } as const;

/** The vector with length 1, so that a product of two is their cosine; null where it has no direction. */
export function unitVector(values: readonly number[]): Float32Array | null {
  const length = Math.hypot(...values);
  if (!Number.isFinite(length) || length === 0) return null;
  return Float32Array.from(values, (value) => value / length);
}

export function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

export function vectorOf(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Float32Array(aligned.buffer, aligned.byteOffset, Math.floor(aligned.byteLength / 4));
}

export function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += a[at]! * b[at]!;
  return sum;
}
