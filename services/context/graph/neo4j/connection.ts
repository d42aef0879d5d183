import neo4j, { type Driver, type Session, type SessionConfig } from 'neo4j-driver';
import { guarded } from '#kit/callbacks.ts';
import { type CoreError, Failed, messageOf, Unavailable } from '#kit/errors.ts';
import { invalidAt, type Place, refusedAt, tooMuchMemory, tooSlow } from '../refusals.ts';
import { placeOfName } from '../text/tokens.ts';

export interface Neo4jAccount {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** How long queries that run beside one that the server does not end may go on. */
const leaveMs = 30_000;

/** One pool of connections to one database. It connects when it is used, and again after the server was away. */
export class Neo4jConnection {
  readonly #account: Neo4jAccount;
  #driver: Driver;

  constructor(account: Neo4jAccount) {
    this.#account = account;
    this.#driver = driverFor(account);
  }

  session(config: SessionConfig = {}): Session {
    return this.#driver.session({ database: this.#account.database, ...config });
  }

  /** Connects again; what holds an older connection loses it soon. */
  renew(): void {
    const before = this.#driver;
    this.#driver = driverFor(this.#account);
    setTimeout(
      guarded('the graph copy', () => before.close().catch(() => {})),
      leaveMs,
    ).unref();
  }

  close(): Promise<void> {
    return this.#driver.close();
  }
}

function driverFor({ url, user, password }: Neo4jAccount): Driver {
  return neo4j.driver(url, neo4j.auth.basic(user, password), {
    connectionTimeout: 3_000,
    connectionAcquisitionTimeout: 5_000,
    maxTransactionRetryTime: 0,
    maxConnectionPoolSize: 20,
    userAgent: 'core-context',
    useBigInt: true,
  });
}

/** What Neo4j says as an error of ours. @param linesBefore of ours that stand before the query */
export function neo4jError(
  thrown: unknown,
  { query, seconds, linesBefore }: { query: string; seconds: number; linesBefore: number },
): CoreError {
  const code = codeOfNeo4j(thrown);
  const message = messageOf(thrown).split('\n')[0]!;
  if (/TransactionTimedOut|Transaction\.Terminated|LockClientStopped/.test(code)) return tooSlow(seconds);
  if (/MemoryPoolOutOfMemory|OutOfMemory|TransactionMemoryLimit|StackOverflow/.test(code))
    return tooMuchMemory('the server allows one transaction');
  if (/Statement\.AccessMode|Security\.Forbidden/.test(code))
    return refusedAt('cypher_read_only', null, message);
  if (/^Neo\.(ClientError\.(Statement|Procedure|Schema|Database)|DatabaseError\.Statement)\./.test(code)) {
    const said = message.replace(/ \(line \d+, column \d+ \(offset: \d+\)\)$/, '');
    return invalidAt(placeIn(message, query, linesBefore), said);
  }
  return connectionError(thrown);
}

/** The server is away, refuses us, or is no Neo4j. */
export function connectionError(thrown: unknown): CoreError {
  const code = codeOfNeo4j(thrown);
  const message = messageOf(thrown).split('\n')[0]!;
  if (
    /^(ServiceUnavailable|SessionExpired)$/.test(code) ||
    /^Neo\.(ClientError\.Security|TransientError|DatabaseError)/.test(code) ||
    /acqui|connect|pool/i.test(message)
  )
    return new Unavailable('cypher_unavailable', `Neo4j does not answer: ${message}`, {
      cause: thrown,
      retryAfter: 5,
    });
  return new Failed('neo4j_failed', `Neo4j failed: ${message}`, { cause: thrown });
}

export function codeOfNeo4j(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

function placeIn(message: string, query: string, linesBefore: number): Place | null {
  const [, line, column] = /\(line (\d+), column (\d+) \(offset: \d+\)\)$/.exec(message) ?? [];
  if (line !== undefined && Number(line) > linesBefore)
    return { line: Number(line) - linesBefore, column: Number(column) };
  const name = /[`'](\w[\w.]*)[`']/.exec(message)?.[1];
  return name === undefined ? null : placeOfName(query, name.split('.')[0]!);
}
