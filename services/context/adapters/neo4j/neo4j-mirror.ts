import neo4j, { type ManagedTransaction, type Transaction } from 'neo4j-driver';
import {
  type Changes,
  labelsOf,
  type Position,
  type Properties,
  positionLabel,
} from '../../graph/changes.ts';
import { DigestSums, type GraphDigests } from '../../graph/digest.ts';
import type { GraphMirror } from '../../graph/graph-mirror.ts';
import { grouped } from '../../graph/grouped.ts';
import { edgeTypes, nodeLabels } from '../../record/graph-record.ts';
import { type Neo4jConnection, toNeo4j } from './connection.ts';
import { plain } from './plain.ts';

/** How long one transaction of the mirror may take before the server ends it. */
const transactionMs = 60_000;
const deletedAtOnce = 10_000;

/** The record's graph on a Neo4j server. The position lies there too, in the transaction of what it tells of. */
export class Neo4jMirror implements GraphMirror {
  readonly #connection: Neo4jConnection;

  constructor(connection: Neo4jConnection) {
    this.#connection = connection;
  }

  async prepare(): Promise<void> {
    for (const label of [...nodeLabels, positionLabel]) {
      const name = `core_${label.toLowerCase()}_id`;
      await this.#run(`CREATE CONSTRAINT ${name} IF NOT EXISTS FOR (n:${label}) REQUIRE n.id IS UNIQUE`);
    }
    await this.#run(
      `CREATE FULLTEXT INDEX core_text IF NOT EXISTS FOR (n:${nodeLabels.join('|')}) ON EACH [n.title, n.path, n.id]`,
    );
  }

  async position(): Promise<Position | null> {
    const [row] = await this.#run(`MATCH (n:${positionLabel} {id: 'position'}) RETURN properties(n) AS p`);
    const { record, nodes, edges, deletions } = (row?.p ?? {}) as unknown as Position;
    return typeof record === 'string' ? { record, nodes, edges, deletions } : null;
  }

  async apply({ deletions, nodes, edges, position }: Changes): Promise<void> {
    const session = this.#connection.session({ defaultAccessMode: neo4j.session.WRITE });
    try {
      const transaction = await session.beginTransaction({ timeout: transactionMs });
      await applyDeletions(transaction, deletions);
      await applyNodes(transaction, nodes);
      await applyEdges(transaction, edges);
      await transaction.run(
        `MERGE (n:${positionLabel} {id: 'position'}) SET n += $position`,
        toNeo4j({ position }) as object,
      );
      await transaction.commit();
    } finally {
      await session.close();
    }
  }

  async clear(): Promise<void> {
    for (const label of [positionLabel, ...nodeLabels]) {
      for (;;) {
        const query = `MATCH (n:${label}) WITH n LIMIT ${deletedAtOnce} DETACH DELETE n RETURN count(*) AS gone`;
        const [row] = await this.#run(query);
        if (Number(row?.gone ?? 0) < deletedAtOnce) break;
      }
    }
  }

  async digests(): Promise<GraphDigests> {
    const nodes = new DigestSums();
    for (const label of nodeLabels)
      await this.#each(`MATCH (n:${label}) RETURN properties(n) AS p`, ({ p }) =>
        nodes.addNode(label, p as Properties),
      );
    const edges = new DigestSums();
    for (const type of edgeTypes)
      await this.#each(
        `MATCH (a)-[e:${type}]->(b) RETURN a.id AS f, b.id AS t, properties(e) AS p`,
        ({ f, t, p }) => edges.addEdge(type, String(f), String(t), p as Properties),
      );
    return { nodes: nodes.result(), edges: edges.result() };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #run(query: string): Promise<Record<string, unknown>[]> {
    const session = this.#connection.session();
    try {
      const { records } = await session.run(query, {}, { timeout: transactionMs });
      return records.map((record) => plain(record.toObject()) as Record<string, unknown>);
    } finally {
      await session.close();
    }
  }

  async #each(query: string, visit: (row: Record<string, unknown>) => void): Promise<void> {
    const session = this.#connection.session({ defaultAccessMode: neo4j.session.READ });
    try {
      for await (const record of session.run(query))
        visit(plain(record.toObject()) as Record<string, unknown>);
    } finally {
      await session.close();
    }
  }
}

type Runner = Pick<Transaction | ManagedTransaction, 'run'>;

async function applyDeletions(transaction: Runner, deletions: Changes['deletions']): Promise<void> {
  const edges = deletions.filter((deletion) => deletion.subject === 'edge');
  for (const group of grouped(edges, (e) => `${e.from_label} ${e.type} ${e.to_label}`)) {
    const { from_label, to_label, type } = group[0]!;
    const key = type === 'CORE_RELATION' ? ' {kind: r.kind}' : '';
    const query = `UNWIND $rows AS r
      MATCH (:${from_label} {id: r.from})-[e:${type}${key}]->(:${to_label} {id: r.to}) DELETE e`;
    await transaction.run(query, { rows: group });
  }
  const ids = deletions.flatMap((deletion) => (deletion.subject === 'node' ? [deletion.id] : []));
  if (ids.length === 0) return;
  for (const label of nodeLabels)
    await transaction.run(`UNWIND $ids AS id MATCH (n:${label} {id: id}) DETACH DELETE n`, { ids });
}

async function applyNodes(transaction: Runner, nodes: Changes['nodes']): Promise<void> {
  for (const group of grouped(nodes, ({ label }) => label)) {
    const [key, ...others] = labelsOf[group[0]!.label];
    const labels = others.length === 0 ? '' : `, n:${others.join(':')}`;
    const rows = toNeo4j(group.map(({ properties }) => properties));
    await transaction.run(`UNWIND $rows AS r MERGE (n:${key} {id: r.id}) SET n = r${labels}`, { rows });
  }
}

async function applyEdges(transaction: Runner, edges: Changes['edges']): Promise<void> {
  for (const group of grouped(edges, (e) => `${e.from_label} ${e.type} ${e.to_label}`)) {
    const { from_label, to_label, type } = group[0]!;
    const key = type === 'CORE_RELATION' ? ' {kind: r.kind}' : '';
    const query = `UNWIND $rows AS r MATCH (a:${from_label} {id: r.from}) MATCH (b:${to_label} {id: r.to})
      MERGE (a)-[e:${type}${key}]->(b) SET e = r.properties`;
    await transaction.run(query, { rows: toNeo4j(group) });
  }
}
