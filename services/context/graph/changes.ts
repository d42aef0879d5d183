import { hash as hashed } from 'node:crypto';
import { type EdgeType, edgeTypes, type NodeLabel, nodeLabels } from '../record/graph-record.ts';

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
  | ({ readonly subject: 'edge' } & Omit<GraphEdge, 'properties'>);

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

export function byLabel(nodes: Changes['nodes']): [NodeLabel, Properties[]][] {
  const groups = Map.groupBy(nodes, ({ label }) => label);
  return [...groups].map(([label, some]) => [label, some.map(({ properties }) => properties)]);
}

/** Cypher that both engines understand. */
interface Statement {
  readonly query: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export function edgeStatements(edges: Changes['edges']): Statement[] {
  return byEnds(edges).map(([{ from_label, to_label, type, key }, some]) => ({
    query: `UNWIND $rows AS r MATCH (a:${from_label} {id: r.from}) MATCH (b:${to_label} {id: r.to})
      MERGE (a)-[e:${type}${key}]->(b) SET e = r.properties`,
    params: { rows: some.map(({ from, to, kind, properties }) => ({ from, to, kind, properties })) },
  }));
}

export function deletionStatements(deletions: Changes['deletions']): Statement[] {
  const edges = deletions.filter((deletion) => deletion.subject === 'edge');
  const statements = byEnds(edges).map(
    ([{ from_label, to_label, type, key }, rows]): Statement => ({
      query: `UNWIND $rows AS r
        MATCH (:${from_label} {id: r.from})-[e:${type}${key}]->(:${to_label} {id: r.to}) DELETE e`,
      params: { rows },
    }),
  );
  const ids = deletions.flatMap((deletion) => (deletion.subject === 'node' ? [deletion.id] : []));
  if (ids.length === 0) return statements;
  const nodes = nodeLabels.map((label) => ({
    query: `UNWIND $ids AS id MATCH (n:${label} {id: id}) DETACH DELETE n`,
    params: { ids },
  }));
  return [...statements, ...nodes];
}

type EdgeKey = Omit<GraphEdge, 'properties'>;

/** Edges that one statement can write: labels and types cannot be parameters. */
function byEnds<Edge extends EdgeKey>(
  edges: readonly Edge[],
): [EdgeKey & { readonly key: string }, Edge[]][] {
  const groups = Map.groupBy(edges, (edge) => `${edge.from_label} ${edge.type} ${edge.to_label}`);
  return [...groups.values()].map((some) => {
    const key = some[0]!.type === 'CORE_RELATION' ? ' {kind: r.kind}' : '';
    return [{ ...some[0]!, key }, some];
  });
}

/** How many things there are and a sum over their contents in which their order does not matter. */
export interface Digest {
  readonly count: number;
  /** Hexadecimal. */
  readonly sum: string;
}

/** By label for nodes, by type for edges. */
export interface GraphDigests {
  readonly nodes: Readonly<Record<string, Digest>>;
  readonly edges: Readonly<Record<string, Digest>>;
}

/** What an engine holds. @param read runs a query and gives its rows, one by one or all together */
export async function digestsOf(
  read: (query: string) => AsyncIterable<unknown> | Promise<Iterable<unknown>>,
): Promise<GraphDigests> {
  const nodes = new DigestSums();
  for (const label of nodeLabels)
    for await (const row of await read(`MATCH (n:${label}) RETURN properties(n) AS p`))
      nodes.addNode(label, (row as { p: Properties }).p);
  const edges = new DigestSums();
  for (const type of edgeTypes) {
    const query = `MATCH (a)-[e:${type}]->(b) RETURN a.id AS f, b.id AS t, properties(e) AS p`;
    for await (const row of await read(query)) {
      const { f, t, p } = row as { f: string; t: string; p: Properties };
      edges.addEdge(type, f, t, p);
    }
  }
  return { nodes: nodes.result(), edges: edges.result() };
}

const modulus = 2n ** 64n;

export class DigestSums {
  readonly #sums = new Map<string, { count: number; sum: bigint }>();

  addNode(label: string, properties: Properties): void {
    this.#add(label, ordered(properties));
  }

  addEdge(type: string, from: string, to: string, properties: Properties): void {
    this.#add(type, [from, to, ...ordered(properties)]);
  }

  result(): Record<string, Digest> {
    const sorted = [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      sorted.map(([name, { count, sum }]) => [name, { count, sum: sum.toString(16).padStart(16, '0') }]),
    );
  }

  #add(name: string, content: readonly unknown[]): void {
    const hash = hashed('sha256', JSON.stringify(content), 'buffer').readBigUInt64BE();
    const before = this.#sums.get(name) ?? { count: 0, sum: 0n };
    this.#sums.set(name, { count: before.count + 1, sum: (before.sum + hash) % modulus });
  }
}

function ordered(properties: Properties): unknown[] {
  return Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
}
