/**
 * The graph as callers meet it: `openGraph({readers, config, password, folder, logger})` gives Cypher, health, refresh, rebuild and
 * check, on Neo4j where it is configured and on the embedded engine where not. The mirror starts by itself; the embedded engine when it
 * is asked, or when much has changed and nobody writes.
 */

import type { CypherReply, CypherRequest } from '#kit/contracts/context/cypher.ts';
import { defaultCypherLimit } from '#kit/contracts/context/cypher.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ContextConfig } from '../configuration.ts';
import type { RecordReader } from '../record/calls.ts';
import { type Comparison, compared } from './comparison.ts';
import type { CypherEngine, EngineHealth } from './cypher-engine.ts';
import type { GraphDigests } from './digest.ts';
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
  /** Opens a configured Neo4j; its driver is large, so that only who has a server loads it. */
  readonly onServer?: OpenOnServer | undefined;
}

type OpenOnServer = (options: GraphOptions, server: NonNullable<ContextConfig['neo4j']>) => Opened;

export interface Opened {
  readonly engine: CypherEngine;
  readonly name: Graph['engine'];
  readonly projection: Projection;
  readonly reach: Graph['reach'];
}

export interface Graph {
  readonly engine: 'grafeo' | 'neo4j';
  /** @throws see CypherEngine.query; InvalidInput (`invalid_limit`) */
  query(request: CypherRequest, asked?: Asked): Promise<CypherReply>;
  health(): Promise<EngineHealth>;
  /** Asks the server itself, with its account, and says what answered; null where there is none. @throws Unavailable */
  readonly reach: (() => Promise<string>) | null;
  /** Brings the projection up to what is committed now. @throws Unavailable (`cypher_unavailable`) */
  refresh(): Promise<void>;
  /** Makes the projection again from nothing. */
  rebuild(): Promise<void>;
  /** When it resolves, what the record has deleted is in no file and on no server of the projection. */
  dropDeleted(): Promise<void>;
  /** Compares what the record holds with what the projection holds, after bringing it up to date. */
  check(): Promise<Comparison>;
  close(): Promise<void>;
}

export interface Asked {
  /** Whoever asks without a name shares one with all others who do. */
  readonly caller?: string | undefined;
  readonly signal?: AbortSignal;
}

/** What the two engines do differently, beside the queries. */
interface Projection {
  refresh(): Promise<unknown>;
  rebuild(): Promise<unknown>;
  dropDeleted(): Promise<unknown>;
  digests(): Promise<GraphDigests>;
  close(): Promise<void> | void;
}

const anonymous = '';

/** @throws Refused (`neo4j_password_missing`) */
export function openGraph(options: GraphOptions): Graph {
  const { config, readers, onServer } = options;
  if (config.neo4j !== null && onServer === undefined)
    throw new TypeError('neo4j is configured, and nothing was given to open it with');
  const { engine, name, projection, reach } =
    config.neo4j === null ? embedded(options) : onServer!(options, config.neo4j);
  return {
    engine: name,
    query: async ({ query, params, limit }, { caller = anonymous, signal } = {}) => {
      const rows = checkedLimit(limit, config.cypher.rows);
      return engine.query({ query, params: params ?? {}, limit: rows, caller, ...(signal && { signal }) });
    },
    health: () => engine.health(),
    reach,
    refresh: async () => void (await projection.refresh()),
    rebuild: async () => void (await projection.rebuild()),
    dropDeleted: async () => void (await projection.dropDeleted()),
    check: () => compared(readers, projection),
    close: async () => projection.close(),
  };
}

function checkedLimit(limit: number | undefined, most: number): number {
  const value = limit ?? Math.min(defaultCypherLimit, most);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new InvalidInput('invalid_limit', `limit ${value} is not an integer from 1 to ${most}`);
}

function embedded({ readers, config, folder, logger }: GraphOptions): Opened {
  const limits = config.cypher;
  const held = new GrafeoProjection({ readers, folder, memoryMb: limits.memory_mb, logger });
  const loading = new IdleLoading({ readers, projection: held });
  loading.start();
  const projection: Projection = {
    refresh: () => held.refresh(),
    rebuild: () => held.rebuild(),
    // The next query makes it again.
    dropDeleted: () => held.reset(),
    digests: async () => (await held.current()).call('digests', null),
    close: () => {
      loading.close();
      held.close();
    },
  };
  return {
    name: 'grafeo',
    engine: new GrafeoEngine({ projection: held, readers, limits }),
    projection,
    reach: null,
  };
}
