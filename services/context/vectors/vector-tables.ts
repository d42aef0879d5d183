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
