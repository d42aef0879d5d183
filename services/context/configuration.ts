import * as t from 'io-ts';
import { AbsolutePath, Hostname, HttpUrl, Tls } from '#kit/config/address.ts';
import { readConcern } from '#kit/config/concern.ts';
import { type AddressSources, addressChanges } from '#kit/config/service-address.ts';
import { RepositoryName } from '#kit/contracts/context/members.ts';
import { decode, integerBetween, NonEmptyString, nullable, optional, stringThat } from '#kit/decode.ts';
import type { Environment } from '#kit/environment.ts';

const BoltUrl = stringThat(
  'BoltUrl',
  'a bolt, bolt+s, bolt+ssc, neo4j, neo4j+s or neo4j+ssc address, for example bolt://127.0.0.1:7687',
  (text) => URL.canParse(text) && /^(bolt|neo4j)(\+s|\+ssc)?:$/.test(new URL(text).protocol),
);

/** What `config/context.json` holds. */
export const ContextConfig = t.strict({
  /** Where it listens; beside the loopback interface it needs `tls` or `behind_proxy`. */
  host: Hostname,
  /** 0 takes any free port. */
  port: integerBetween(0, 65_535),
  /** Names besides the loopback's that may stand in `Host`. */
  allowed_hosts: t.array(Hostname),
  /** Whether reading on the loopback interface needs a token too. */
  require_token_for_reads: t.boolean,
  /** TLS ends at a proxy in front of the service. */
  behind_proxy: t.boolean,
  /** null: plain HTTP. */
  tls: nullable(Tls),
  /** Repositories that are ingested without being asked for: name to path of a git repository. */
  repositories: t.record(RepositoryName, AbsolutePath),
  ingestion: t.strict({
    /** Larger files are counted, not read. */
    max_file_bytes: integerBetween(1_024, 100 * 1024 * 1024),
    /** How many commits are read for `changed_with`; 0 reads none. */
    history_commits: integerBetween(0, 100_000),
  }),
  cypher: t.strict({
    /** For waiting for one's turn and running together. */
    seconds: integerBetween(1, 600),
    /** The highest `limit` of a query. */
    rows: integerBetween(1, 100_000),
    /** MiB of the embedded engine's process. */
    memory_mb: integerBetween(200, 64_000),
  }),
  /** Of the record into `storage.s3`, where several hosts share it. */
  backup: t.strict({
    /** At most one in so many, and only after a change. */
    seconds: integerBetween(1, 3_600),
    /** How many are kept. */
    keep: integerBetween(1, 100),
  }),
  /** null: Cypher runs on the embedded engine. */
  neo4j: nullable(
    t.strict({
      url: BoltUrl,
      user: NonEmptyString,
      /** The name of a secret file with the password. */
      password_file: NonEmptyString,
      /** One database mirrors one record. */
      database: NonEmptyString,
    }),
  ),
  /** null: text and graph alone. An OpenAI-compatible address that answers `/v1/embeddings`. */
  embeddings: nullable(
    t.strict({
      /** Up to, and without, `/v1`. */
      url: HttpUrl,
      /** With another one all vectors are rebuilt. */
      model: NonEmptyString,
      /** The name of a secret file with a token for it. */
      credential: optional(nullable(NonEmptyString)),
    }),
  ),
});
export type ContextConfig = t.TypeOf<typeof ContextConfig>;

export interface ContextSources extends AddressSources {
  readonly environment: AddressSources['environment'] & Partial<Pick<Environment, 'CORE_NEO4J_URL'>>;
}

/** Of a Neo4j of which only the address is given. */
const defaultAccount = { user: 'neo4j', password_file: 'neo4j-password', database: 'neo4j' } as const;

/**
 * Flag, environment, user's file, shipped default, in that order.
 * @throws InvalidInput (`config_invalid`) naming file, JSON pointer, value and rule
 */
export function readContextConfig(sources: ContextSources): ContextConfig {
  const fromFiles = readConcern(ContextConfig, 'context', sources.folders);
  const neo4j = neo4jAt(sources.environment.CORE_NEO4J_URL, fromFiles.neo4j);
  return { ...fromFiles, neo4j, ...addressChanges('context', sources) };
}

function neo4jAt(given: string | undefined, configured: ContextConfig['neo4j']): ContextConfig['neo4j'] {
  if (!given) return configured;
  if (given === 'none') return null;
  const url = decode(BoltUrl, given, 'CORE_NEO4J_URL', 'config_invalid');
  return { ...(configured ?? defaultAccount), url };
}
