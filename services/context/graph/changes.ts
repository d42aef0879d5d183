import type { EdgeType, NodeLabel } from '../record/graph-record.ts';

export type Scalar = string | number | boolean;
export type Properties = Readonly<Record<string, Scalar>>;

/** A node as the projections hold it. `properties.id` is its key among the nodes of its label. */
export interface GraphNode {
  readonly label: NodeLabel;
  readonly properties: Properties;
}

/** An edge as the projections hold it; its key is all but `properties`. */
export interface GraphEdge {
  readonly from: string;
  readonly from_label: NodeLabel;
  readonly to: string;
  readonly to_label: NodeLabel;
  readonly type: EdgeType;
  /** Empty for every type but `CORE_RELATION`, whose property `kind` it also is. */
  readonly kind: string;
  readonly properties: Properties;
}

export type Deletion =
  | { readonly subject: 'node'; readonly id: string }
  | {
      readonly subject: 'edge';
      readonly from: string;
      readonly from_label: NodeLabel;
      readonly to: string;
      readonly to_label: NodeLabel;
      readonly type: EdgeType;
      readonly kind: string;
    };

/** How much of which record a projection has seen, by numbers of the change sequence. */
export interface Position {
  readonly record: string;
  readonly nodes: number;
  readonly edges: number;
  readonly deletions: number;
}

/** What changed after a position, to be applied in this order: deletions, nodes, edges. */
export interface Changes {
  readonly deletions: readonly Deletion[];
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Where the projection is once these are applied. */
  readonly position: Position;
  /** Nothing is left after these. */
  readonly complete: boolean;
}

/** Both labels of a pair of spec.md, the one that keys the node first. */
export const labelsOf: Readonly<Record<NodeLabel, readonly string[]>> = {
  CoreEntity: ['CoreEntity'],
  Memory: ['Memory'],
  ReasoningRun: ['ReasoningRun', 'AgentRun'],
  Task: ['Task', 'ForgeIssue'],
  Action: ['Action', 'ProposedAction'],
};

/** Items of one key together, in the order of their first ones. */
export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  return [...Map.groupBy(items, keyOf).values()];
}
