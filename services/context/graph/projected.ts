import type { EdgeType, NodeLabel } from '../record/graph-record.ts';
import type { Deletion, GraphEdge, GraphNode, Properties, Scalar } from './changes.ts';

export interface NodeRow {
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

export interface EdgeRow {
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
export function projectedNode(row: NodeRow): GraphNode {
  const { id, kind, title, repository, path, start_line, end_line, valid_from, valid_to } = row;
  const own = JSON.parse(row.properties) as Record<string, unknown>;
  const properties = scalars({
    ...own,
    ...present({ id, kind, title, repository, path, start_line, end_line, valid_from, valid_to }),
  });
  return { label: row.label, properties };
}

/** Only a `CORE_RELATION` has a history and a weight; the other types have what spec.md gives them, and `valid_to` once closed. */
export function projectedEdge(row: EdgeRow): GraphEdge {
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

export interface DeletionRow {
  readonly changed: number;
  readonly subject: 'node' | 'edge';
  readonly key: string;
}

/** null: an edge that went with one of its ends. */
export function projectedDeletion(
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
