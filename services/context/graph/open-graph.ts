import { type CypherReply, type CypherRequest, defaultCypherLimit } from '#kit/contracts/context/cypher.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ContextConfig } from '../configuration.ts';
import type { RecordReader } from '../record/calls.ts';
import type { Digest, GraphDigests } from './changes.ts';
import type { CypherEngine, EngineHealth } from './cypher-engine.ts';
import { GrafeoEngine } from './grafeo/grafeo-engine.ts';
import { GrafeoProjection } from './grafeo/grafeo-projection.ts';
import { IdleLoading } from './grafeo/idle-loading.ts';
import type { graphQueries } from './graph-queries.ts';

export interface GraphOptions {
  readonly readers: RecordReader<typeof graphQueries>;
  readonly config: Pick<ContextConfig, 'cypher' | 'neo4j'>;
  /** What the file that `neo4j.password_file` names holds; null when there is none, or nothing in it. */
  readonly password: string | null;
  /** For the projection's files, or the mirror's position; disposable. */
  readonly folder: string;
  readonly logger: Logger;
  /** Opens a configured Neo4j; loaded only where there is one, because its driver is large. */
  readonly onServer?:
    | ((options: GraphOptions, server: NonNullable<ContextConfig['neo4j']>) => OpenedEngine)
    | undefined;
}

/** The record's graph as an engine holds it. */
export interface Projection {
  /** Brings it up to what is committed now. @throws Unavailable (`cypher_unavailable`) */
  refresh(): Promise<void>;
  /** Builds it again from nothing. */
  rebuild(): Promise<void>;
  /** When it resolves, what the record has deleted is in no file and on no server of the projection. */
  dropDeleted(): Promise<void>;
  digests(): Promise<GraphDigests>;
  close(): Promise<void>;
}

/** What differs between the engines. */
export interface OpenedEngine {
  readonly name: 'grafeo' | 'neo4j';
  readonly engine: CypherEngine;
  readonly projection: Projection;
  /** Asks the server itself, with its account, and says what answered; null where there is none. @throws Unavailable */
  readonly reach: (() => Promise<string>) | null;
}

export interface Graph extends Projection {
  readonly engine: OpenedEngine['name'];
  readonly reach: OpenedEngine['reach'];
  /**
   * @param asked callers without a name count as one
   * @throws see CypherEngine.query; InvalidInput (`invalid_limit`)
   */
  query(
    request: CypherRequest,
    asked?: { readonly caller?: string | undefined; readonly signal?: AbortSignal },
  ): Promise<CypherReply>;
  health(): Promise<EngineHealth>;
  /** Compares what the record holds with what the projection holds, after bringing it up to date. */
  check(): Promise<Comparison>;
}

/**
 * Opens the graph on Neo4j where it is configured, and on the embedded engine where not. The mirror starts by itself; the embedded
 * engine when it is asked, or when much has changed and nobody writes.
 * @throws Refused (`neo4j_password_missing`)
 */
export function openGraph(options: GraphOptions): Graph {
  const { config, readers, onServer } = options;
  if (config.neo4j !== null && onServer === undefined)
    throw new TypeError('neo4j is configured, and nothing was given to open it with');
  const { engine, name, projection, reach } =
    config.neo4j === null ? openEmbedded(options) : onServer!(options, config.neo4j);
  return {
    ...projection,
    engine: name,
    reach,
    query: async ({ query, params, limit }, { caller = '', signal } = {}) => {
      const rows = checkedLimit(limit, config.cypher.rows);
      return engine.query({ query, params: params ?? {}, limit: rows, caller, ...(signal && { signal }) });
    },
    health: () => engine.health(),
    check: () => compare(readers, projection),
  };
}

function checkedLimit(limit: number | undefined, max: number): number {
  const value = limit ?? Math.min(defaultCypherLimit, max);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new InvalidInput('invalid_limit', `limit ${value} is not an integer from 1 to ${max}`);
}

function openEmbedded({ readers, config, folder, logger }: GraphOptions): OpenedEngine {
  const limits = config.cypher;
  const held = new GrafeoProjection({ readers, folder, memoryMb: limits.memory_mb, logger });
  const loading = new IdleLoading(readers, held);
  loading.start();
  return {
    name: 'grafeo',
    engine: new GrafeoEngine({ projection: held, readers, limits }),
    projection: {
      refresh: () => held.refresh(),
      rebuild: () => held.rebuild(),
      // The next query loads it again.
      dropDeleted: () => held.reset(),
      digests: async () => (await held.current()).call('digests', null),
      close: async () => {
        loading.close();
        held.close();
      },
    },
    reach: null,
  };
}

export interface Difference {
  /** A label or a relationship type. */
  readonly what: string;
  /** null: there is none. */
  readonly record: Digest | null;
  readonly projection: Digest | null;
}

/** Counts and contents of the record and of a projection, by label and type. */
export interface Comparison {
  readonly same: boolean;
  readonly nodes: number;
  readonly edges: number;
  readonly differences: readonly Difference[];
}

const maxRounds = 5;

/** Compares again while others write: what differs for a moment is no difference. */
async function compare(
  readers: RecordReader<typeof graphQueries>,
  projection: Projection,
): Promise<Comparison> {
  for (let round = 1; ; round++) {
    await projection.refresh();
    const before = await readers.ask('graphDigests', {});
    const there = await projection.digests();
    const differences = [...differ(before.nodes, there.nodes), ...differ(before.edges, there.edges)];
    const moved =
      differences.length > 0 &&
      JSON.stringify(await readers.ask('graphDigests', {})) !== JSON.stringify(before);
    if (moved && round < maxRounds) continue;
    return {
      same: differences.length === 0,
      nodes: sum(before.nodes),
      edges: sum(before.edges),
      differences,
    };
  }
}

function differ(
  record: Readonly<Record<string, Digest>>,
  projection: Readonly<Record<string, Digest>>,
): Difference[] {
  const names = [...new Set([...Object.keys(record), ...Object.keys(projection)])].sort();
  return names
    .map((what) => ({ what, record: record[what] ?? null, projection: projection[what] ?? null }))
    .filter(
      (each) => each.record?.count !== each.projection?.count || each.record?.sum !== each.projection?.sum,
    );
}

function sum(digests: Readonly<Record<string, Digest>>): number {
  return Object.values(digests).reduce((total, { count }) => total + count, 0);
}
