import type { DatabaseSync } from 'node:sqlite';
import { lastChange, type NodeLabel } from '../record/graph-record.ts';
import { prepared } from '../record/prepared.ts';
import type { Changes, Position } from './changes.ts';
import { DigestSums, type GraphDigests } from './digest.ts';
import {
  type DeletionRow,
  type EdgeRow,
  type NodeRow,
  projectedDeletion,
  projectedEdge,
  projectedNode,
} from './projected.ts';

const nodeColumns =
  'changed, id, label, kind, repository, title, path, start_line, end_line, properties, valid_from, valid_to';
const edgeColumns = `e.changed, f.id AS from_id, f.label AS from_label, t.id AS to_id, t.label AS to_label, e.type, e.kind,
  e.weight, e.ordinal, e.valid_from, e.valid_to`;
const edgeEnds = 'JOIN nodes f ON f.node = e.from_node JOIN nodes t ON t.node = e.to_node';

/** See store/queries.ts. */
export const graphQueries = { graphChanges, graphChangesText, graphLag, graphDigests } as const;

interface ChangesInput {
  /** null: from the beginning. */
  readonly after: Position | null;
  /** At most so many of each. */
  readonly most: number;
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
function graphChanges(db: DatabaseSync, { after, most }: ChangesInput): ChangesOutput {
  const start = positionOf(db);
  const restart = after !== null && !isOf(db, after);
  const from = after === null || restart ? start : after;
  const deletions = prepared(
    db,
    'SELECT changed, subject, key FROM deletions WHERE changed > ? ORDER BY changed LIMIT ?',
  ).all(from.deletions, most) as unknown as DeletionRow[];
  const nodes = deletions.length === most ? [] : nodesAfter(db, from.nodes, most);
  const edgesMay = deletions.length < most && nodes.length < most;
  const edges = edgesMay ? edgesAfter(db, from.edges, most) : [];
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
    complete: edgesMay && edges.length < most,
  };
  return { restart, changes, last: lastChange(db) };
}

export interface ChangesText extends Omit<ChangesOutput, 'changes'> {
  /** `Changes` in JSON. */
  readonly text: string;
  readonly count: number;
  readonly position: Position;
  readonly complete: boolean;
}

/** The same for another process: as one text they leave the thread between with nothing to collect. */
function graphChangesText(db: DatabaseSync, input: ChangesInput): ChangesText {
  const { restart, changes, last } = graphChanges(db, input);
  const { deletions, nodes, edges, position, complete } = changes;
  const count = deletions.length + nodes.length + edges.length;
  return { restart, last, text: JSON.stringify(changes), count, position, complete };
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

function nodesAfter(db: DatabaseSync, after: number, most: number): NodeRow[] {
  return prepared(db, `SELECT ${nodeColumns} FROM nodes WHERE changed > ? ORDER BY changed LIMIT ?`).all(
    after,
    most,
  ) as unknown as NodeRow[];
}

function edgesAfter(db: DatabaseSync, after: number, most: number): EdgeRow[] {
  return prepared(
    db,
    `SELECT ${edgeColumns} FROM edges e ${edgeEnds} WHERE e.changed > ? ORDER BY e.changed LIMIT ?`,
  ).all(after, most) as unknown as EdgeRow[];
}

function positionOf(db: DatabaseSync): Position {
  const { id } = prepared(db, 'SELECT id FROM record_identity').get() as { id: string };
  return { record: id, nodes: 0, edges: 0, deletions: 0 };
}

/** A position ahead of the record is of one that was lost. */
function isOf(db: DatabaseSync, { record, nodes, edges, deletions }: Position): boolean {
  return record === positionOf(db).record && Math.max(nodes, edges, deletions) <= lastChange(db);
}
