/**
 * The graph: everything that core-context was told, and the only copy of what cannot be read again. Times are ISO 8601 in
 * UTC with milliseconds, so that they sort as text.
 *
 * `changed` is the place in the change sequence at which a row was written last. A projection that has seen everything up to
 * n asks for the rows with a higher one; rows that are gone leave a line in `deletions`.
 */
export const recordTables = `
  CREATE TABLE nodes (
    node INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    kind TEXT NOT NULL,
    repository TEXT,
    title TEXT NOT NULL,
    path TEXT,
    start_line INTEGER,
    end_line INTEGER,
    properties TEXT NOT NULL DEFAULT '{}',
    valid_from TEXT NOT NULL,
    valid_to TEXT,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX nodes_changed ON nodes (changed);
  CREATE INDEX nodes_place ON nodes (repository, path);
  CREATE INDEX nodes_kind ON nodes (kind, repository);

  CREATE TABLE edges (
    edge INTEGER PRIMARY KEY,
    from_node INTEGER NOT NULL REFERENCES nodes (node) ON DELETE CASCADE,
    type TEXT NOT NULL,
    kind TEXT NOT NULL,
    to_node INTEGER NOT NULL REFERENCES nodes (node) ON DELETE CASCADE,
    weight REAL NOT NULL DEFAULT 1,
    ordinal INTEGER,
    valid_from TEXT NOT NULL,
    valid_to TEXT,
    changed INTEGER NOT NULL,
    UNIQUE (from_node, type, kind, to_node)
  ) STRICT;
  CREATE INDEX edges_to ON edges (to_node, type, kind);
  CREATE INDEX edges_changed ON edges (changed);

  CREATE TABLE deletions (
    changed INTEGER PRIMARY KEY,
    subject TEXT NOT NULL CHECK (subject IN ('node', 'edge')),
    key TEXT NOT NULL
  ) STRICT;
`;

/** Which record this is: a projection of another one, or of one that was rebuilt, starts over. */
export const identityTable = `
  CREATE TABLE record_identity (id TEXT NOT NULL) STRICT;
  INSERT INTO record_identity VALUES (lower(hex(randomblob(16))));
`;
