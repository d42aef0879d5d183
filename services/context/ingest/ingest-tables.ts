/**
 * What ingestion remembers of repositories and their files, to read only what changed.
 *
 * `basis` says what the last complete ingestion was made from, and is empty while one is under way or was cut off. Of a file,
 * `source` says which content the record holds, and by which reader. `links` is the digest of the
 * edges that lead from it, empty when they must be compared again. `definitions` and `uses` are the facts from which edges between files
 * are made, as linking/facts.ts writes them.
 */
export const ingestTables = `
  CREATE TABLE ingested_repositories (
    repository TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    basis TEXT,
    commit_id TEXT,
    at TEXT,
    totals TEXT
  ) STRICT;

  CREATE TABLE ingested_files (
    file INTEGER PRIMARY KEY,
    repository TEXT NOT NULL,
    path TEXT NOT NULL,
    source TEXT,
    skipped TEXT,
    links TEXT,
    definitions TEXT,
    uses TEXT,
    UNIQUE (repository, path)
  ) STRICT;
`;
