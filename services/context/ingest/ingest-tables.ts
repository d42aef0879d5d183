/**
 * What ingestion remembers of repositories and their files, to read only what changed.
 *
 * `basis` says what the last complete ingestion was made from, and is empty while one is under way or was cut off. Of a file,
 * `source` says which content the record holds, and by which reader. `links` is the digest of the
 * edges that lead from it, empty when they must be compared again. `definitions` (later `language` and `module`) and `uses` are the
 * facts from which edges between files are made, as linking/facts.ts writes them.
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

/**
 * What linking looks up by name, so that a changed file costs what it says alone. `symbol_names` has the simple names of symbols,
 * closed ones too; `used_names` those that a file uses or mentions, and behind a slash the pieces of paths. `relink` is 1 where
 * the links of all files must be compared, 2 where folders may be empty, else 0. Of a file, `edges` are those that `links` stands for. All files are read again to
 * fill this.
 */
export const linkTables = `
  CREATE TABLE symbol_names (
    repository TEXT NOT NULL,
    name TEXT NOT NULL,
    node INTEGER NOT NULL,
    PRIMARY KEY (repository, name, node)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE used_names (
    repository TEXT NOT NULL,
    name TEXT NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (repository, name, file)
  ) STRICT, WITHOUT ROWID;

  ALTER TABLE ingested_repositories ADD COLUMN relink INTEGER NOT NULL DEFAULT 1;

  CREATE TABLE files (
    file INTEGER PRIMARY KEY,
    repository TEXT NOT NULL,
    path TEXT NOT NULL,
    source TEXT,
    skipped TEXT,
    links TEXT,
    symbols INTEGER NOT NULL DEFAULT 0,
    parts INTEGER NOT NULL DEFAULT 0,
    edges INTEGER NOT NULL DEFAULT 0,
    language TEXT,
    module TEXT,
    uses TEXT,
    UNIQUE (repository, path)
  ) STRICT;
  INSERT INTO files (file, repository, path, source, skipped, uses)
    SELECT file, repository, path, source, skipped, '[[],[],[]]' FROM ingested_files;
  DROP TABLE ingested_files;
  ALTER TABLE files RENAME TO ingested_files;
  CREATE INDEX ingested_files_modules ON ingested_files (repository, path) WHERE module IS NOT NULL;
`;
