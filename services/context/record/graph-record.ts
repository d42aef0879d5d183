import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { prepared } from './connection.ts';

/**
 * The graph: everything that core-context knows, and the only copy of what cannot be read again. Times are ISO 8601 in
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

/** The last command of a journal that this record has performed; its highest row, because a rescued record has the damaged one's too. */
export const journalTable = `
  CREATE TABLE journal_position (seq INTEGER NOT NULL) STRICT;
  INSERT INTO journal_position VALUES (0);
`;

/** The version of the record that wrote what is made from other rows; its highest row, as that of `journal_position`. */
export const indexedTable = `
  CREATE TABLE indexed_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO indexed_version VALUES (0);
`;

/** Labels of spec.md; the second of a pair is the projection's to add. */
export const nodeLabels = ['CoreEntity', 'Memory', 'ReasoningRun', 'Task', 'Action'] as const;
export type NodeLabel = (typeof nodeLabels)[number];

export const edgeTypes = [
  'CORE_RELATION',
  'ABOUT',
  'SIMILAR_TO',
  'PLANS_FOR',
  'PROPOSES',
  'NEXT_ACTION',
] as const;
export type EdgeType = (typeof edgeTypes)[number];

export interface NodeInput {
  /** Stable and readable; see node-id.ts. */
  readonly id: string;
  readonly label: NodeLabel;
  readonly kind: string;
  readonly title: string;
  readonly repository?: string | null;
  readonly path?: string | null;
  readonly start_line?: number | null;
  readonly end_line?: number | null;
  /** Scalars alone: they become properties of the node in the graph. */
  readonly properties?: Readonly<Record<string, string | number | boolean | null>>;
  /** ISO 8601. */
  readonly valid_from: string;
  readonly valid_to?: string | null;
}

export interface EdgeInput {
  readonly from: number;
  readonly to: number;
  readonly type: EdgeType;
  /** Of a `CORE_RELATION`; empty for every other type. */
  readonly kind?: string;
  readonly weight?: number;
  readonly ordinal?: number | null;
  readonly valid_from: string;
  readonly valid_to?: string | null;
}

// Neither returns a row: SQLite then keeps what it takes to undo the statement alone, and has the text indexes write out all
// that they gathered before.
const addNode = `
  INSERT INTO nodes (label, kind, repository, title, path, start_line, end_line, properties, valid_from, valid_to, changed, id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const replaceNode = `
  UPDATE nodes SET label = ?, kind = ?, repository = ?, title = ?, path = ?, start_line = ?, end_line = ?,
    properties = ?, valid_from = min(valid_from, ?), valid_to = ?, changed = ?
  WHERE node = ?`;
const putEdge = `
  INSERT INTO edges (from_node, type, kind, to_node, weight, ordinal, valid_from, valid_to, changed)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (from_node, type, kind, to_node) DO UPDATE SET weight = excluded.weight, ordinal = excluded.ordinal,
    valid_to = excluded.valid_to, changed = excluded.changed
  WHERE weight <> excluded.weight OR ordinal IS NOT excluded.ordinal OR valid_to IS NOT excluded.valid_to`;

/**
 * Writes nodes and edges, each write with the next number of the change sequence. Lives in the writer's thread, where every call
 * is part of a transaction that its caller began.
 */
export class GraphRecord {
  readonly db: DatabaseSync;
  /** Commands that were acknowledged once are performed again, on a record that may not know yet what only repositories say. */
  replaying = false;
  #changed: number;

  constructor(db: DatabaseSync) {
    this.db = db;
    this.#changed = lastChange(db);
  }

  /** A statement of the caller's own, prepared once. */
  prepare(sql: string): StatementSync {
    return prepared(this.db, sql);
  }

  /** Adds a row to a table of the caller's own. @param row by column */
  insert(table: string, row: Readonly<Record<string, SQLInputValue>>): void {
    const columns = Object.keys(row);
    const places = columns.map(() => '?').join(', ');
    this.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`).run(
      ...Object.values(row),
    );
  }

  /** Notes that a command of the journal is performed; in its transaction. */
  passJournal(seq: number): void {
    this.prepare('UPDATE journal_position SET seq = max(seq, ?)').run(seq);
  }

  /** The next number of the change sequence, for a row that a caller writes itself. */
  nextChange(): number {
    return ++this.#changed;
  }

  /** After a rollback: the numbers of what did not happen are given again. */
  forgetChanges(): void {
    this.#changed = lastChange(this.db);
  }

  /** Adds a node or replaces what is known of it; its edges stay. @returns its row */
  putNode(input: NodeInput): number {
    const known = this.nodeOf(input.id);
    if (known === null) return this.addNode(input);
    this.prepare(replaceNode).run(...this.#columnsOf(input), known);
    return known;
  }

  /** Adds a node that is not there, as its id is new. @returns its row */
  addNode(input: NodeInput): number {
    return Number(this.prepare(addNode).run(...this.#columnsOf(input), input.id).lastInsertRowid);
  }

  #columnsOf(input: NodeInput) {
    const { label, kind, title, repository = null, path = null, start_line = null, end_line = null } = input;
    const { properties = {}, valid_from, valid_to = null } = input;
    const place = [repository, title, path, start_line, end_line];
    return [label, kind, ...place, JSON.stringify(properties), valid_from, valid_to, this.nextChange()];
  }

  /** The row of an id; null where there is none. */
  nodeOf(id: string): number | null {
    return (
      (this.prepare('SELECT node FROM nodes WHERE id = ?').get(id) as { node: number } | undefined)?.node ??
      null
    );
  }

  /** Ends a node's validity; it stays, for questions about then. */
  closeNode(node: number, at: string): void {
    this.prepare('UPDATE nodes SET valid_to = ?, changed = ? WHERE node = ? AND valid_to IS NULL').run(
      at,
      this.nextChange(),
      node,
    );
  }

  /** Adds an edge, or changes the one that is there. */
  putEdge(input: EdgeInput): void {
    const { from, to, type, kind = '', weight = 1, ordinal = null, valid_from, valid_to = null } = input;
    this.prepare(putEdge).run(from, type, kind, to, weight, ordinal, valid_from, valid_to, this.nextChange());
  }

  closeEdge(edge: number, at: string): void {
    this.prepare('UPDATE edges SET valid_to = ?, changed = ? WHERE edge = ? AND valid_to IS NULL').run(
      at,
      this.nextChange(),
      edge,
    );
  }

  /** Removes a node and its edges for good; the projections learn of it. */
  deleteNode(node: number): void {
    const row = this.prepare('DELETE FROM nodes WHERE node = ? RETURNING id').get(node);
    if (row !== undefined) this.#noteDeletion('node', row.id as string);
  }

  /** Removes an edge for good. */
  deleteEdge(edge: number): void {
    const row = this.prepare(
      `SELECT f.id AS from_id, e.type, e.kind, t.id AS to_id FROM edges e
       JOIN nodes f ON f.node = e.from_node JOIN nodes t ON t.node = e.to_node WHERE e.edge = ?`,
    ).get(edge);
    if (row === undefined) return;
    this.prepare('DELETE FROM edges WHERE edge = ?').run(edge);
    this.#noteDeletion('edge', JSON.stringify(row));
  }

  #noteDeletion(subject: 'node' | 'edge', key: string): void {
    this.insert('deletions', { changed: this.nextChange(), subject, key });
  }
}

/** The highest number that was given. */
export function lastChange(db: DatabaseSync): number {
  const row = db
    .prepare(
      `SELECT max(coalesce((SELECT max(changed) FROM nodes), 0), coalesce((SELECT max(changed) FROM edges), 0),
              coalesce((SELECT max(changed) FROM deletions), 0)) AS changed`,
    )
    .get() as { changed: number };
  return row.changed;
}
