import neo4j, { type Driver, type Session, type SessionConfig } from 'neo4j-driver';

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

  /** Connects anew; what holds a connection of before loses it soon. */
  renew(): void {
    const before = this.#driver;
    this.#driver = driverFor(this.#account);
    setTimeout(() => void before.close().catch(() => {}), leaveMs).unref();
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

/** What Neo4j keeps as whole numbers: JavaScript's own would all arrive as floats. */
export function toNeo4j(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toNeo4j);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toNeo4j(each)]));
}
