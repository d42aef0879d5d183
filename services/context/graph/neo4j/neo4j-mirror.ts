import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import neo4j from 'neo4j-driver';
import { makePrivateFolder, replaceNote } from '#kit/durable-file.ts';
import { messageOf } from '#kit/errors.ts';
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
import { type GraphMirror, TooMuchAtOnce } from '../mirror-loop.ts';
import { codeOfNeo4j, type Neo4jConnection } from './connection.ts';
import { plain, toNeo4j } from './values.ts';

const deletedAtOnce = 10_000;
const tooMuch =
  /TransactionTimedOut|Transaction\.Terminated|LockClientStopped|OutOfMemory|TransactionMemoryLimit/;

/** A server that was put back to an earlier state has never seen the transaction that is asked for. */
const notThere = /BookmarkTimeout|InvalidBookmark/;

/**
 * The record's graph on a Neo4j server, and nothing else: the position lies in a file, with the database and the transaction that it
 * is true of, and is written after that. What comes between is applied again, which changes nothing.
 */
export class Neo4jMirror implements GraphMirror {
  readonly #connection: Neo4jConnection;
  readonly #transactionMs: number;
  #database = '';
  readonly #file: string;

  /** @param file of the position; disposable @param transactionMs how long one transaction may take before the server ends it */
  constructor(connection: Neo4jConnection, file: string, transactionMs = 60_000) {
    this.#connection = connection;
    this.#transactionMs = transactionMs;
    this.#file = file;
  }

  get lastKnown(): Position | null {
    return readKept(this.#file)?.position ?? null;
  }

  async prepare(): Promise<void> {
    for (const label of nodeLabels) {
      const name = `core_${label.toLowerCase()}_id`;
      await this.#run(`CREATE CONSTRAINT ${name} IF NOT EXISTS FOR (n:${label}) REQUIRE n.id IS UNIQUE`);
    }
    await this.#run(
      `CREATE FULLTEXT INDEX core_text IF NOT EXISTS FOR (n:${nodeLabels.join('|')}) ON EACH [n.title, n.path, n.id]`,
    );
  }

  async position(): Promise<Position | null> {
    const kept = readKept(this.#file);
    this.#database = await this.#run('CALL db.info() YIELD id').then(([row]) => String(row?.id));
    if (kept === null || kept.database !== this.#database) return null;
    try {
      await this.#run('RETURN 1 AS seen', kept.bookmarks);
      return kept.position;
    } catch (error) {
      if (notThere.test(codeOfNeo4j(error))) return null;
      throw error;
    }
  }

  async apply({ deletions, nodes, edges, position }: Changes): Promise<void> {
    const session = this.#connection.session({ defaultAccessMode: neo4j.session.WRITE });
    try {
      const transaction = await session.beginTransaction({ timeout: this.#transactionMs });
      for (const { query, params } of [
        ...deletionStatements(deletions),
        ...nodeStatements(nodes),
        ...edgeStatements(edges),
      ])
        await transaction.run(query, toNeo4j(params));
      await transaction.commit();
    } catch (error) {
      throw asTooMuch(error);
    } finally {
      await session.close();
    }
    this.#keep(position, session.lastBookmarks());
  }

  /** What is written is never behind what is kept, and may be ahead: a disk without room for this holds up nothing. */
  #keep(position: Position, bookmarks: readonly string[]): void {
    try {
      makePrivateFolder(dirname(this.#file));
      replaceNote(this.#file, JSON.stringify({ position, database: this.#database, bookmarks }));
    } catch {}
  }

  async clear(): Promise<void> {
    rmSync(this.#file, { force: true });
    for (const label of nodeLabels) {
      let limit = deletedAtOnce;
      for (;;) {
        const gone = await this.#deleteSome(label, limit);
        if (gone === null) limit = Math.ceil(limit / 4);
        else if (gone < limit) break;
      }
    }
  }

  /** How many; null where that was too much at once. */
  async #deleteSome(label: string, limit: number): Promise<number | null> {
    const query = `MATCH (n:${label}) WITH n LIMIT ${limit} DETACH DELETE n RETURN count(*) AS gone`;
    try {
      const [row] = await this.#run(query);
      return Number(row?.gone ?? 0);
    } catch (error) {
      if (limit > 1 && tooMuch.test(codeOfNeo4j(error))) return null;
      throw error;
    }
  }

  digests(): Promise<GraphDigests> {
    return digestsOf((query) => this.#rows(query));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #run(query: string, bookmarks: readonly string[] = []): Promise<Record<string, unknown>[]> {
    const session = this.#connection.session({ bookmarks: [...bookmarks] });
    try {
      const { records } = await session.run(query, {}, { timeout: this.#transactionMs });
      return records.map((record) => plain(record.toObject()) as Record<string, unknown>);
    } finally {
      await session.close();
    }
  }

  async *#rows(query: string): AsyncGenerator<unknown> {
    const session = this.#connection.session({ defaultAccessMode: neo4j.session.READ });
    try {
      for await (const record of session.run(query)) yield plain(record.toObject());
    } finally {
      await session.close();
    }
  }
}

function asTooMuch(error: unknown): unknown {
  if (!tooMuch.test(codeOfNeo4j(error))) return error;
  return new TooMuchAtOnce(messageOf(error), { cause: error });
}

function nodeStatements(nodes: Changes['nodes']): ReturnType<typeof edgeStatements> {
  return byLabel(nodes).map(([label, rows]) => {
    const [key, ...others] = labelsOf[label];
    const labels = others.length === 0 ? '' : `, n:${others.join(':')}`;
    return { query: `UNWIND $rows AS r MERGE (n:${key} {id: r.id}) SET n = r${labels}`, params: { rows } };
  });
}

/** What a mirror had seen when it was written last. */
interface KeptPosition {
  readonly position: Position;
  /** The database's own id. */
  readonly database: string;
  /** Of the transaction that the position is true of. */
  readonly bookmarks: readonly string[];
}

/** In a file of ours: in the mirror itself it would be a node among those that callers count. null: none that can be read. */
function readKept(file: string): KeptPosition | null {
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as KeptPosition;
    return typeof kept.position.record === 'string' && Array.isArray(kept.bookmarks) ? kept : null;
  } catch {
    return null;
  }
}
