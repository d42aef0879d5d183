import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../record/connection.ts';
import { type EdgeType, lastChange, type NodeLabel } from '../record/graph-record.ts';
import {
  type Changes,
  type Deletion,
  DigestSums,
  type GraphDigests,
  type GraphEdge,
  type GraphNode,
  type Position,
  type Properties,
  type Scalar,
} from './changes.ts';

const nodeColumns =
  'changed, id, label, kind, repository, title, path, start_line, end_line, properties, valid_from, valid_to';
const edgeColumns = `e.changed, f.id AS from_id, f.label AS from_label, t.id AS to_id, t.label AS to_label, e.type, e.kind,
  e.weight, e.ordinal, e.valid_from, e.valid_to`;
const edgeEnds = 'JOIN nodes f ON f.node = e.from_node JOIN nodes t ON t.node = e.to_node';

export const graphQueries = { graphChanges, graphLag, graphDigests } as const;

interface ChangesInput {
  /** null: from the beginning. */
  readonly after: Position | null;
  /** Of deletions, nodes and edges each. */
  readonly limit: number;
}

interface ChangesOutput {
  /** The position was none of this record; `changes` begin at its beginning. */
  readonly restart: boolean;
  readonly changes: Changes;
  /** The highest number of the change sequence. */
  readonly last: number;
}

/**
 * What changed after a position. Deletions come before all else, so that what was made again under an id that was deleted stays;
 * edges come only once no node is left, so that they find their ends.
 */
function graphChanges(db: DatabaseSync, { after, limit }: ChangesInput): ChangesOutput {
  const start = positionOf(db);
  const restart = after !== null && !isOf(db, after);
  const from = after === null || restart ? start : after;
  const deletions = prepared(
    db,
    'SELECT changed, subject, key FROM deletions WHERE changed > ? ORDER BY changed LIMIT ?',
  ).all(from.deletions, limit) as unknown as DeletionRow[];
  const nodes = deletions.length === limit ? [] : nodesAfter(db, from.nodes, limit);
  const edgesMay = deletions.length < limit && nodes.length < limit;
  const edges = edgesMay ? edgesAfter(db, from.edges, limit) : [];
  const label = prepared(db, 'SELECT label FROM nodes WHERE id = ?');
  const labelOf = (id: string) => (label.get(id) as { label: NodeLabel } | undefined)?.label ?? null;
  const position: Position = {
    record: from.record,
    deletions: deletions.at(-1)?.changed ?? from.deletions,
    nodes: nodes.at(-1)?.changed ?? from.nodes,
    edges: edges.at(-1)?.changed ?? from.edges,
  };
  const changes = {
    deletions: deletions
      .map((row) => projectedDeletion(row, labelOf))
      .filter((deletion) => deletion !== null),
    nodes: nodes.map(projectedNode),
    edges: edges.map(projectedEdge),
    position,
    complete: edgesMay && edges.length < limit,
  };
  return { restart, changes, last: lastChange(db) };
}

/** How many changes a projection has not seen. */
function graphLag(db: DatabaseSync, { after }: { readonly after: Position | null }): { changes: number } {
  const from = after === null || !isOf(db, after) ? positionOf(db) : after;
  const row = prepared(
    db,
    `SELECT (SELECT count(*) FROM nodes WHERE changed > ?) + (SELECT count(*) FROM edges WHERE changed > ?) +
              (SELECT count(*) FROM deletions WHERE changed > ?) AS changes`,
  ).get(from.nodes, from.edges, from.deletions) as { changes: number };
  return row;
}

/** What every projection of this record has to come to. */
function graphDigests(db: DatabaseSync, _input: Readonly<Record<string, never>>): GraphDigests {
  const nodes = new DigestSums();
  for (const row of prepared(db, `SELECT ${nodeColumns} FROM nodes`).iterate()) {
    const { label, properties } = projectedNode(row as unknown as NodeRow);
    nodes.addNode(label, properties);
  }
  const edges = new DigestSums();
  for (const row of prepared(db, `SELECT ${edgeColumns} FROM edges e ${edgeEnds}`).iterate()) {
    const { type, from, to, properties } = projectedEdge(row as unknown as EdgeRow);
    edges.addEdge(type, from, to, properties);
  }
  return { nodes: nodes.result(), edges: edges.result() };
}

function nodesAfter(db: DatabaseSync, after: number, limit: number): NodeRow[] {
  return prepared(db, `SELECT ${nodeColumns} FROM nodes WHERE changed > ? ORDER BY changed LIMIT ?`).all(
    after,
    limit,
  ) as unknown as NodeRow[];
}

function edgesAfter(db: DatabaseSync, after: number, limit: number): EdgeRow[] {
  return prepared(
    db,
    `SELECT ${edgeColumns} FROM edges e ${edgeEnds} WHERE e.changed > ? ORDER BY e.changed LIMIT ?`,
  ).all(after, limit) as unknown as EdgeRow[];
}

function positionOf(db: DatabaseSync): Position {
  const { id } = prepared(db, 'SELECT id FROM record_identity').get() as { id: string };
  return { record: id, nodes: 0, edges: 0, deletions: 0 };
}

/** A position ahead of the record is of one that was lost. */
function isOf(db: DatabaseSync, { record, nodes, edges, deletions }: Position): boolean {
  return record === positionOf(db).record && Math.max(nodes, edges, deletions) <= lastChange(db);
}

interface NodeRow {
  readonly changed: number;
  readonly id: string;
  readonly label: NodeLabel;
  readonly kind: string;
  readonly repository: string | null;
  readonly title: string;
  readonly path: string | null;
  readonly start_line: number | null;
  readonly end_line: number | null;
  readonly properties: string;
  readonly valid_from: string;
  readonly valid_to: string | null;
}

interface EdgeRow {
  readonly changed: number;
  readonly from_id: string;
  readonly from_label: NodeLabel;
  readonly to_id: string;
  readonly to_label: NodeLabel;
  readonly type: EdgeType;
  readonly kind: string;
  readonly weight: number;
  readonly ordinal: number | null;
  readonly valid_from: string;
  readonly valid_to: string | null;
}

/** The columns win over properties of the same name; what is null is absent. */
function projectedNode(row: NodeRow): GraphNode {
  const { id, kind, title, repository, path, start_line, end_line, valid_from, valid_to } = row;
  const own = JSON.parse(row.properties) as Record<string, unknown>;
  const properties = scalars({
    ...own,
    ...present({ id, kind, title, repository, path, start_line, end_line, valid_from, valid_to }),
  });
  return { label: row.label, properties };
}

/** Only a `CORE_RELATION` has a history and a weight; the other types have what spec.md gives them, and `valid_to` once closed. */
function projectedEdge(row: EdgeRow): GraphEdge {
  const { type, kind, weight, ordinal, valid_from, valid_to } = row;
  const properties = type === 'CORE_RELATION' ? { kind, weight, valid_from } : {};
  return {
    from: row.from_id,
    from_label: row.from_label,
    to: row.to_id,
    to_label: row.to_label,
    type,
    kind,
    properties: scalars({ ...properties, ...present({ ordinal, valid_to }) }),
  };
}

interface DeletionRow {
  readonly changed: number;
  readonly subject: 'node' | 'edge';
  readonly key: string;
}

/** null: an edge that went with one of its ends. */
function projectedDeletion(
  { subject, key }: DeletionRow,
  labelOf: (id: string) => NodeLabel | null,
): Deletion | null {
  if (subject === 'node') return { subject, id: key };
  const { from_id, type, kind, to_id } = JSON.parse(key) as Pick<
    EdgeRow,
    'from_id' | 'type' | 'kind' | 'to_id'
  >;
  const [from_label, to_label] = [labelOf(from_id), labelOf(to_id)];
  if (from_label === null || to_label === null) return null;
  return { subject, from: from_id, from_label, to: to_id, to_label, type, kind };
}

function present(columns: Readonly<Record<string, Scalar | null>>): Record<string, Scalar> {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null)) as Record<
    string,
    Scalar
  >;
}

/** Names that begin with `_` belong to the engines. */
function scalars(values: Readonly<Record<string, unknown>>): Properties {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => !name.startsWith('_') && isScalar(value)),
  ) as Properties;
}

function isScalar(value: unknown): value is Scalar {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean';
}
