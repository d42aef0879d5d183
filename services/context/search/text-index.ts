import type { GraphRecord } from '../record/graph-record.ts';
import { bagOf, pathTermsOf, termsOf } from './words/words.ts';

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

export interface NodeText {
  readonly title: string;
  readonly path: string | null;
  readonly body: string;
}

/** Makes a node findable by its text, in place of the text that it had. */
export function indexText(record: GraphRecord, node: number, { title, path, body }: NodeText): void {
  forgetText(record, node);
  record.prepare('INSERT INTO bodies (node, text) VALUES (?, ?)').run(node, body);
  if (isWhole(record, node)) {
    record
      .prepare('INSERT INTO whole_index (rowid, name, path, body) VALUES (?, ?, ?, ?)')
      .run(node, joinedTerms(title), joinedTerms(path ?? ''), bagOf(termsOf(body)));
  } else {
    record
      .prepare('INSERT INTO part_index (rowid, name, body) VALUES (?, ?, ?)')
      .run(node, joinedTerms(title), bagOf(termsOf(body)));
  }
}

export function forgetText(record: GraphRecord, node: number): void {
  for (const table of ['whole_index', 'part_index']) {
    record.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(node);
  }
  record.prepare('DELETE FROM bodies WHERE node = ?').run(node);
}

/** Whether a node is a file of its own, and not a part of one or something without a path. */
function isWhole(record: GraphRecord, node: number): boolean {
  const row = record.prepare('SELECT kind, path FROM nodes WHERE node = ?').get(node) as
    | { kind: string; path: string | null }
    | undefined;
  return row !== undefined && row.path !== null && (row.kind === 'file' || row.kind === 'document');
}

function joinedTerms(path: string): string {
  return [...pathTermsOf(path).keys()].join(' ');
}

interface Body {
  readonly node: number;
  readonly title: string;
  readonly path: string | null;
  readonly text: string;
}

export type Rebuilt = { readonly last: number; readonly done: number } | null;

/**
 * Rebuilds the text index from the texts that it was made of, node by node, for a while.
 * @param after the last node that was done; 0 to begin
 * @returns the last node that was done now, and how many; null when none was left
 */
export function rebuildTexts(
  record: GraphRecord,
  { after, milliseconds }: { readonly after: number; readonly milliseconds: number },
): Rebuilt {
  const end = performance.now() + milliseconds;
  const next = record.prepare(
    `SELECT b.node, n.title, n.path, b.text FROM bodies b JOIN nodes n ON n.node = b.node
     WHERE b.node > ? ORDER BY b.node LIMIT 1`,
  );
  let last = after;
  for (let done = 0; ; done++) {
    const body = next.get(last) as Body | undefined;
    if (body === undefined) return done === 0 ? null : { last, done };
    if (done > 0 && performance.now() > end) return { last, done };
    indexText(record, body.node, { title: body.title, path: body.path, body: body.text });
    last = body.node;
  }
}
