import type { GraphRecord } from '../record/graph-record.ts';

export interface NewVectors {
  readonly model: string;
  readonly vectors: readonly { readonly memory: number; readonly vector: Uint8Array }[];
}

/** Those of memories that were forgotten meanwhile are left out. @returns how many were stored */
export function storeVectors(record: GraphRecord, { model, vectors }: NewVectors): number {
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
