import type { GraphRecord } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';
import { linkKinds } from './stored-rows.ts';

const ownKinds = "'file', 'document', 'symbol', 'section', 'service'";
/** Edges that ingestion makes; what runs and memories say about a file stays true when it is gone. */
const ownRelations = ['contains', 'defines', ...linkKinds].map((kind) => `'${kind}'`).join(', ');

/** Ends the validity of a file and of all that is in it. */
export function closeFile(record: GraphRecord, repository: string, path: string, at: string): void {
  for (const { node } of openNodes(record, repository, path)) close(record, node, at);
}

/** Ends the validity of the parts of a file that it has no more. */
export function closeParts(
  record: GraphRecord,
  repository: string,
  path: string,
  present: ReadonlySet<string>,
  at: string,
): void {
  const file = nodeId.file(repository, path);
  for (const { node, id } of openNodes(record, repository, path)) {
    if (id !== file && !present.has(id)) close(record, node, at);
  }
}

export function closeDirectory(record: GraphRecord, repository: string, path: string, at: string): void {
  const node = record.nodeOf(nodeId.directory(repository, path));
  if (node !== null) close(record, node, at);
}

function openNodes(record: GraphRecord, repository: string, path: string): { node: number; id: string }[] {
  return record
    .prepare(
      `SELECT node, id FROM nodes WHERE repository = ? AND path = ? AND label = 'CoreEntity' AND valid_to IS NULL
       AND kind IN (${ownKinds})`,
    )
    .all(repository, path) as { node: number; id: string }[];
}

/** The links of the files that lead here are compared again at the next linking, so that they come back when the node does. */
function close(record: GraphRecord, node: number, at: string): void {
  record
    .prepare(
      `UPDATE ingested_files SET links = NULL WHERE file IN (
         SELECT i.file FROM edges e JOIN nodes f ON f.node = e.from_node
         JOIN ingested_files i ON i.repository = f.repository AND i.path = f.path
         WHERE e.to_node = ? AND e.type = 'CORE_RELATION' AND e.valid_to IS NULL)`,
    )
    .run(node);
  const edges = record
    .prepare(
      `SELECT edge FROM edges WHERE from_node = ?1 AND type = 'CORE_RELATION' AND kind IN (${ownRelations}) AND valid_to IS NULL
       UNION SELECT edge FROM edges WHERE to_node = ?1 AND type = 'CORE_RELATION' AND kind IN (${ownRelations}) AND valid_to IS NULL`,
    )
    .all(node) as { edge: number }[];
  for (const { edge } of edges) record.closeEdge(edge, at);
  record.closeNode(node, at);
}
