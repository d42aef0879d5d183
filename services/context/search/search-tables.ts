/**
 * The full-text index, by node, and the text it was made from. What stands in the index is made by words/: terms separated by
 * spaces, so that the tokenizer has nothing to decide.
 *
 * `whole_index` holds files, `part_index` everything else: parts of files and what has no path. They are apart because the length
 * of a text is rated against the average of its table. `change_index` holds the messages of commits; a file in `changed_files` has
 * the name that it has in `learned_histories.commit_id`, the commit up to which a history is known.
 */
export const searchTables = `
  CREATE TABLE bodies (
    node INTEGER PRIMARY KEY REFERENCES nodes (node) ON DELETE CASCADE,
    text TEXT NOT NULL
  ) STRICT;
  CREATE VIRTUAL TABLE whole_index USING fts5(
    name, path, body, content='', contentless_delete=1, tokenize='ascii'
  );
  CREATE VIRTUAL TABLE part_index USING fts5(
    name, body, content='', contentless_delete=1, tokenize='ascii'
  );
  CREATE VIRTUAL TABLE whole_terms USING fts5vocab('whole_index', 'row');
  CREATE VIRTUAL TABLE part_terms USING fts5vocab('part_index', 'row');

  CREATE TABLE learned_histories (
    repository TEXT PRIMARY KEY,
    commit_id TEXT
  ) STRICT;
  CREATE TABLE changes (
    change INTEGER PRIMARY KEY,
    repository TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    at TEXT NOT NULL,
    files INTEGER NOT NULL,
    UNIQUE (repository, commit_id)
  ) STRICT;
  CREATE TABLE changed_files (
    change INTEGER NOT NULL REFERENCES changes (change) ON DELETE CASCADE,
    repository TEXT NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (change, path)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX changed_files_path ON changed_files (repository, path);
  CREATE VIRTUAL TABLE change_index USING fts5(message, content='', contentless_delete=1, tokenize='ascii');
  CREATE VIRTUAL TABLE change_terms USING fts5vocab('change_index', 'row');
`;
