/** The full-text index, by node, and the text it was made from. */
export const searchTables = `
  CREATE TABLE bodies (
    node INTEGER PRIMARY KEY REFERENCES nodes (node) ON DELETE CASCADE,
    text TEXT NOT NULL
  ) STRICT;
  CREATE VIRTUAL TABLE texts USING fts5(
    title, path, body, content='', contentless_delete=1, tokenize='porter unicode61'
  );
`;
