import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import grafeo, { type GrafeoDB } from '@grafeo-db/js';
import { nodeLabels } from '../../record/graph-record.ts';
import {
  byLabel,
  type Changes,
  deletionStatements,
  digestsOf,
  edgeStatements,
  type GraphDigests,
  labelsOf,
  type Position,
} from '../changes.ts';
import { type Counts, readCurrent, writeCurrent } from './current-version.ts';

/**
 * The projection's versions, one file each; `current` names the one to read. A new version is written beside it, so that
 * queries go on meanwhile and a process that is killed leaves the old one.
 */
export class ProjectionFolder {
  readonly #folder: string;
  #snapshot: ProjectionSnapshot | null = null;
  #users = new Map<ProjectionSnapshot, number>();
  #draft: { readonly file: ProjectionFile; readonly name: string } | null = null;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Opens the current version. Position null: there is none.
   * @param beside the process that keeps the folder; that one removes what killed processes left
   */
  async open(beside: boolean): Promise<Position | null> {
    const current = readCurrent(this.#folder);
    if (!beside) this.#removeAllBut(current?.name ?? null);
    if (current === null) return null;
    this.#snapshot = await this.#opened(current.name, current.counts);
    return current.position;
  }

  async begin(fresh: boolean, until: number): Promise<void> {
    const name = `${Date.now().toString(36)}-${process.hrtime.bigint().toString(36)}.grafeo`;
    const path = join(this.#folder, name);
    const current = readCurrent(this.#folder);
    try {
      if (fresh || current === null) {
        this.#draft = { name, file: await ProjectionFile.create(path, until) };
      } else {
        copyFileSync(join(this.#folder, current.name), path);
        this.#draft = { name, file: ProjectionFile.open(path) };
      }
    } catch (error) {
      this.#removeAllBut(current?.name ?? null);
      throw error;
    }
  }

  apply(changes: Changes): Promise<void> {
    return this.#draft!.file.apply(changes);
  }

  /** The version before stays the current one until the new one was read from the disk and found whole. */
  async commit(position: Position): Promise<void> {
    const { file, name } = this.#draft!;
    const counts = await file.close();
    const snapshot = await this.#opened(name, counts);
    writeCurrent(this.#folder, { name, position, counts });
    this.#draft = null;
    const before = this.#snapshot;
    this.#snapshot = snapshot;
    if (before !== null && !this.#users.has(before)) this.#retire(before);
  }

  /** Makes room again after a new version that could not be written. */
  async drop(): Promise<void> {
    try {
      this.#draft?.file.abandon();
    } catch {}
    this.#draft = null;
    this.#removeAllBut(readCurrent(this.#folder)?.name ?? null);
  }

  /** Lends the current version; one that was replaced meanwhile is closed when its last user is done. */
  async use<T>(work: (snapshot: ProjectionSnapshot) => Promise<T>): Promise<T> {
    const snapshot = this.#snapshot!;
    this.#users.set(snapshot, (this.#users.get(snapshot) ?? 0) + 1);
    try {
      return await work(snapshot);
    } finally {
      const left = this.#users.get(snapshot)! - 1;
      if (left > 0) this.#users.set(snapshot, left);
      else this.#users.delete(snapshot);
      if (left === 0 && snapshot !== this.#snapshot) this.#retire(snapshot);
    }
  }

  #retire(snapshot: ProjectionSnapshot): void {
    snapshot.db.close();
    rmSync(snapshot.path, { recursive: true, force: true });
  }

  async #opened(name: string, counts: Counts): Promise<ProjectionSnapshot> {
    const snapshot = new ProjectionSnapshot(join(this.#folder, name));
    const found = await snapshot.counts();
    if (found.nodes === counts.nodes && found.edges === counts.edges) return snapshot;
    snapshot.db.close();
    throw new Error(
      `${found.nodes} nodes and ${found.edges} relationships are on the disk of ${counts.nodes} and ${counts.edges}`,
    );
  }

  #removeAllBut(current: string | null): void {
    for (const name of readdirSync(this.#folder)) {
      const isOurs = name === 'current' || (current !== null && name.startsWith(current));
      const isLent = [...this.#users.keys()].some(({ path }) => path.endsWith(name));
      if (!(current !== null && isOurs) && !isLent)
        rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
  }
}

/** Grafeo's types allow named imports, which fail when they run. */
const { GrafeoDB: Grafeo } = grafeo;

/** A version of the projection that is being written. Callers' text never meets it. */
export class ProjectionFile {
  readonly #db: GrafeoDB;
  /**
   * Nodes of a projection that began empty, by id; else null. Created in bulk they load 2.7 times as fast as merged, and merging
   * an edge takes the longer the more its first node has: four seconds for 400 beside 16,000.
   */
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
    if (this.#made === null || position.deletions > this.#until)
      await this.#run(deletionStatements(deletions));
    const made = this.#made;
    if (made !== null && position.nodes <= this.#until) await this.#createNodes(nodes, made);
    else await this.#putNodes(nodes);
    if (made !== null && position.edges <= this.#until) await this.#createEdges(edges, made);
    else await this.#run(edgeStatements(edges));
  }

  /** @returns what it holds now, to be compared with what is read from the disk later */
  async close(): Promise<Counts> {
    const counts = await countsOf(this.#db);
    this.#db.close();
    return counts;
  }

  abandon(): void {
    this.#db.close();
  }

  async #createNodes(nodes: Changes['nodes'], made: Map<string, number>): Promise<void> {
    for (const [label, group] of byLabel(nodes)) {
      const fresh = group.filter(({ id }) => !made.has(String(id)));
      const ids = await this.#db.batchCreateNodesWithProps([...labelsOf[label]], fresh);
      for (const [nth, { id }] of fresh.entries()) made.set(String(id), ids[nth]!);
    }
  }

  async #createEdges(edges: Changes['edges'], made: Map<string, number>): Promise<void> {
    const known = edges.filter(({ from, to }) => made.has(from) && made.has(to));
    const rows = known.map(({ from, to, type, properties }) => {
      return { src: made.get(from)!, dst: made.get(to)!, type, properties };
    });
    if (rows.length > 0) await this.#db.batchCreateEdges(rows);
    if (known.length < edges.length)
      await this.#run(edgeStatements(edges.filter(({ from, to }) => !made.has(from) || !made.has(to))));
  }

  async #putNodes(nodes: Changes['nodes']): Promise<void> {
    for (const [label, rows] of byLabel(nodes))
      await this.#db.upsertNodes([...labelsOf[label]], rows, { key: 'id', replace: true });
  }

  async #run(statements: ReturnType<typeof edgeStatements>): Promise<void> {
    for (const { query, params } of statements) await this.#db.executeCypher(query, params);
  }
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

  digests(): Promise<GraphDigests> {
    return digestsOf(async (query) => (await this.db.executeCypher(query)).toArray());
  }
}
