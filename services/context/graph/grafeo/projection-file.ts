import grafeo, { type GrafeoDB } from '@grafeo-db/js';
import { edgeTypes, nodeLabels } from '../../record/graph-record.ts';
import { type Changes, grouped, labelsOf } from '../changes.ts';
import { DigestSums, type GraphDigests } from '../digest.ts';

/** Grafeo's types allow named imports, which fail when they run. */
const { GrafeoDB: Grafeo } = grafeo;

type Row = Record<string, unknown>;
type Kept = Changes['nodes'][number]['properties'];

/** A version of the projection that is being written. Callers' text never meets it. */
export class ProjectionFile {
  readonly #db: GrafeoDB;
  /** Nodes of a projection that began empty, by id, for the fast way in; null otherwise. */
  readonly #made: Map<string, number> | null;
  readonly #until: number;

  private constructor(db: GrafeoDB, made: Map<string, number> | null, until: number) {
    this.#db = db;
    this.#made = made;
    this.#until = until;
  }

  static async create(path: string, until: number): Promise<ProjectionFile> {
    const db = Grafeo.create(path);
    for (const label of nodeLabels) await db.executeCypher(`CREATE INDEX FOR (n:${label}) ON (n.id)`);
    return new ProjectionFile(db, new Map(), until);
  }

  static open(path: string): ProjectionFile {
    return new ProjectionFile(Grafeo.open(path), null, 0);
  }

  async apply({ deletions, nodes, edges, position }: Changes): Promise<void> {
    if (this.#made === null || position.deletions > this.#until) await this.#delete(deletions);
    const made = this.#made;
    if (made !== null && position.nodes <= this.#until) await this.#createNodes(nodes, made);
    else await this.#putNodes(nodes);
    if (made !== null && position.edges <= this.#until) await this.#createEdges(edges, made);
    else await this.#putEdges(edges);
  }

  /** @returns what it holds now, to be compared with what is read from the disk later */
  async close(): Promise<Counts> {
    const counts = await countsOf(this.#db);
    this.#db.close();
    return counts;
  }

  /** Without the wish to keep it. */
  abandon(): void {
    this.#db.close();
  }

  async #createNodes(nodes: Changes['nodes'], made: Map<string, number>): Promise<void> {
    for (const group of grouped(nodes, ({ label }) => label)) {
      const { label } = group[0]!;
      const fresh = group.filter(({ properties }) => !made.has(String(properties.id)));
      const rows = fresh.map(({ properties }) => properties);
      const ids = await this.#db.batchCreateNodesWithProps([...labelsOf[label]], rows);
      for (const [nth, { properties }] of fresh.entries()) made.set(String(properties.id), ids[nth]!);
    }
  }

  async #createEdges(edges: Changes['edges'], made: Map<string, number>): Promise<void> {
    const known = edges.filter(({ from, to }) => made.has(from) && made.has(to));
    const rows = known.map(({ from, to, type, properties }) => {
      return { src: made.get(from)!, dst: made.get(to)!, type, properties };
    });
    if (rows.length > 0) await this.#db.batchCreateEdges(rows);
    if (known.length < edges.length)
      await this.#putEdges(edges.filter(({ from, to }) => !made.has(from) || !made.has(to)));
  }

  async #putNodes(nodes: Changes['nodes']): Promise<void> {
    for (const group of grouped(nodes, ({ label }) => label)) {
      const { label } = group[0]!;
      const rows = group.map(({ properties }) => properties);
      await this.#db.upsertNodes([...labelsOf[label]], rows, { key: 'id', replace: true });
    }
  }

  async #putEdges(edges: Changes['edges']): Promise<void> {
    for (const group of grouped(edges, (e) => `${e.from_label} ${e.type} ${e.to_label}`)) {
      const { from_label, to_label, type } = group[0]!;
      const key = type === 'CORE_RELATION' ? ' {kind: r.kind}' : '';
      await this.#db.executeCypher(
        `UNWIND $rows AS r MATCH (a:${from_label} {id: r.from}) MATCH (b:${to_label} {id: r.to})
         MERGE (a)-[e:${type}${key}]->(b) SET e = r.properties`,
        { rows: group.map(({ from, to, kind, properties }) => ({ from, to, kind, properties })) },
      );
    }
  }

  async #delete(deletions: Changes['deletions']): Promise<void> {
    const edges = deletions.filter((deletion) => deletion.subject === 'edge');
    for (const group of grouped(edges, (e) => `${e.from_label} ${e.type} ${e.to_label}`)) {
      const { from_label, to_label, type } = group[0]!;
      const key = type === 'CORE_RELATION' ? ' {kind: r.kind}' : '';
      await this.#db.executeCypher(
        `UNWIND $rows AS r MATCH (a:${from_label} {id: r.from})-[e:${type}${key}]->(b:${to_label} {id: r.to}) DELETE e`,
        { rows: group },
      );
    }
    const ids = deletions
      .filter(({ subject }) => subject === 'node')
      .map((deletion) => ('id' in deletion ? deletion.id : ''));
    if (ids.length === 0) return;
    for (const label of nodeLabels)
      await this.#db.executeCypher(`UNWIND $ids AS id MATCH (n:${label} {id: id}) DETACH DELETE n`, { ids });
  }
}

/** How much a version holds: less is on the disk when it was full, or when the file was damaged. */
export interface Counts {
  readonly nodes: number;
  readonly edges: number;
}

async function countsOf(db: GrafeoDB): Promise<Counts> {
  const count = async (query: string) => Number((await db.executeCypher(query)).rows()[0]?.[0]);
  return {
    nodes: await count('MATCH (n) RETURN count(n) AS c'),
    edges: await count('MATCH ()-[e]->() RETURN count(e) AS c'),
  };
}

/** A version that is only read. */
export class ProjectionSnapshot {
  readonly db: GrafeoDB;
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    this.db = Grafeo.openReadOnly(path);
  }

  counts(): Promise<Counts> {
    return countsOf(this.db);
  }

  async digests(): Promise<GraphDigests> {
    const nodes = new DigestSums();
    for (const label of nodeLabels) {
      const { rows } = await this.#rows(`MATCH (n:${label}) RETURN properties(n) AS p`);
      for (const row of rows) nodes.addNode(label, row.p as Kept);
    }
    const edges = new DigestSums();
    for (const type of edgeTypes) {
      const { rows } = await this.#rows(
        `MATCH (a)-[e:${type}]->(b) RETURN a.id AS f, b.id AS t, properties(e) AS p`,
      );
      for (const row of rows) edges.addEdge(type, String(row.f), String(row.t), row.p as Kept);
    }
    return { nodes: nodes.result(), edges: edges.result() };
  }

  async #rows(query: string): Promise<{ rows: Row[] }> {
    return { rows: (await this.db.executeCypher(query)).toArray() as Row[] };
  }
}
