import pg from 'pg';
import { guarded } from '../callbacks.ts';
import type { PostgresSettings } from '../config/storage.ts';
import { CoreError, Failed, messageOf } from '../errors.ts';
import { type DatabaseCall, databaseCalls, openPools } from '../measurements/store-calls.ts';
import { readSmallFile } from '../small-file.ts';
import { CommitUnknown } from './commit-unknown.ts';
import type { Database, Sql } from './database.ts';
import { isConnectionLoss, postgresError, sqlState, sqlStates } from './postgres-error.ts';
import { migrateDatabase } from './postgres-migrations.ts';
import { createSignals, type SignalTimes } from './postgres-signals.ts';
import { postgresText } from './postgres-text.ts';
import type { Schema } from './schema.ts';

export interface OpenOptions {
  /** The installation whose move of its storage this is: it alone uses a database that is being filled, or was left. */
  readonly mover?: string | null;
  /** Purpose of the connections, for metrics; default: the application. */
  readonly pool?: string;
  /** The tables of the service that opens it. */
  readonly schema?: Schema;
  /** Called when signals of other processes no longer arrive. */
  readonly warn?: (message: string) => void;
  readonly signalTimes?: SignalTimes;
}

const attempts = 5;

/**
 * Works behind PgBouncer in transaction mode: nothing is kept on a connection between transactions, but by `signals`, which finds out
 * whether that arrives. Opens nothing yet: the first query connects, and brings the tables up to date.
 * @param application shown by `pg_stat_activity`, for example `core-agentd`
 */
export function openPostgres(
  settings: PostgresSettings,
  application: string,
  { mover = null, schema, pool: purpose = application, warn = () => {}, signalTimes }: OpenOptions = {},
): Database {
  const config = clientConfig(settings, application);
  const pool = new pg.Pool({ ...config, max: settings.connections, idleTimeoutMillis: 30_000 });
  // A connection that ends is replaced with the next query; who uses it learns it from that query.
  pool.on('error', () => {});
  pool.on(
    'connect',
    guarded('a connection to PostgreSQL', (client) => client.on('error', () => {})),
  );
  const watched = {
    pool: purpose,
    max: settings.connections,
    get totalCount() {
      return pool.totalCount;
    },
    get idleCount() {
      return pool.idleCount;
    },
    get waitingCount() {
      return pool.waitingCount;
    },
    get notified() {
      return signals.watched ? signals.arrive : null;
    },
  };
  openPools.add(watched);
  const name = databaseName(settings.url);
  const statementMs = settings.statement_seconds * 1000;
  const begin = `BEGIN; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL idle_in_transaction_session_timeout = ${statementMs}`;
  // A uuid: nothing in it ends the text.
  const beginAs = mover === null ? begin : `${begin}; SET LOCAL core.mover = '${mover}'`;
  let migrated: Promise<void> | null = null;

  const signals = createSignals({ config, database: name, send: query, warn }, signalTimes);

  return { engine: 'postgres', name, statementMs, query, transaction, write, signals, close };

  async function query<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    if (mover !== null) return transaction((sql) => sql.query<R>(text, values));
    return measured('query', async () => {
      try {
        await ready();
        return (await pool.query<R>(text, values.map(bound))).rows;
      } catch (error) {
        throw postgresError(error, name);
      }
    });
  }

  function transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return measured('transaction', () => repeated(() => once(work)));
  }

  function write<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    if (mover !== null) return transaction((sql) => sql.query<R>(text, values));
    return measured('transaction', () => repeated(() => writeOnce<R>(text, values)));
  }

  async function measured<T>(operation: DatabaseCall['operation'], work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    let outcome: DatabaseCall['outcome'] = 'done';
    try {
      return await work();
    } catch (error) {
      outcome = isOfDatabase(error) ? 'failed' : 'rolled_back';
      throw error;
    } finally {
      const seconds = (performance.now() - began) / 1000;
      databaseCalls.publish({ pool: purpose, operation, outcome, seconds } satisfies DatabaseCall);
    }
  }

  async function repeated<T>(commit: () => Promise<T>): Promise<T> {
    await ready();
    for (let attempt = 1; ; attempt++) {
      try {
        return await commit();
      } catch (error) {
        const state = sqlState(error);
        const again = state === sqlStates.deadlock || state === sqlStates.serializationFailure;
        if (!again || attempt === attempts) throw postgresError(error, name);
      }
    }
  }

  async function once<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let broken = false;
    try {
      await client.query(beginAs);
      const result = await work({
        engine: 'postgres',
        query: async <R extends object>(text: string, values: readonly unknown[] = []) =>
          (await client.query<R>(text, values.map(bound))).rows,
      });
      await committing(() => client.query('COMMIT'));
      return result;
    } catch (error) {
      broken = error instanceof CommitUnknown || isConnectionLoss(error);
      if (!broken) await client.query('ROLLBACK').catch(() => (broken = true));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async function writeOnce<R extends object>(text: string, values: readonly unknown[]): Promise<R[]> {
    const client = await pool.connect();
    let broken = false;
    try {
      return await committing(async () => (await client.query<R>(text, values.map(bound))).rows);
    } catch (error) {
      broken = error instanceof CommitUnknown;
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async function committing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw isConnectionLoss(error) ? new CommitUnknown(postgresError(error, name) as CoreError) : error;
    }
  }

  /** Brings the tables up to date. The next query tries again if the database was unavailable. */
  function ready(): Promise<void> {
    migrated ??= migrateDatabase(config, { name, mover, schema }).catch((error) => {
      migrated = null;
      throw postgresError(error, name);
    });
    return migrated;
  }

  async function close(): Promise<void> {
    openPools.delete(watched);
    await signals.close();
    await pool.end();
  }
}

/** True for an error of the database, and not for a refusal that the caller expects. */
function isOfDatabase(error: unknown): boolean {
  return error instanceof CoreError && 'database' in error.facts;
}

function clientConfig(settings: PostgresSettings, application: string): pg.ClientConfig {
  const url = new URL(settings.url);
  const { hostname, port, username, pathname, searchParams } = url;
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  const plain = searchParams.get('sslmode') === 'disable' || host.startsWith('/') || isLoopback(host);
  return {
    host,
    port: port === '' ? 5432 : Number(port),
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
    ...(settings.password_file === null ? {} : { password: () => readPassword(settings.password_file!) }),
    ssl: plain ? false : settings.ca_file === null ? {} : { ca: readSmallFile(settings.ca_file) },
    application_name: application,
    types: { getTypeParser },
    connectionTimeoutMillis: 10_000,
    // Ends queries that the server's own timeout cannot end because the network is cut.
    query_timeout: (settings.statement_seconds + 5) * 1000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

function bound(value: unknown): unknown {
  return typeof value === 'string' ? postgresText(value) : value;
}

/** Counts and times are numbers: they stay below 2^53. */
function getTypeParser(type: number, format?: 'text' | 'binary') {
  return type === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(type, format);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127\./.test(host);
}

/** Read for each connection, so that a password can be changed while Core runs. */
function readPassword(path: string): string {
  try {
    return readSmallFile(path).replace(/\r?\n$/, '');
  } catch (cause) {
    throw new Failed(
      'database_password_unreadable',
      `${path} (storage.password_file) cannot be read: ${messageOf(cause)}`,
      {
        cause,
        facts: { path },
        hint: 'Write the password of the database there, readable by the user that runs Core alone.',
      },
    );
  }
}

function databaseName(text: string): string {
  const url = new URL(text);
  url.password = '';
  url.search = '';
  return url.href;
}
