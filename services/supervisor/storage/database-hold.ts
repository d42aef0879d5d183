import type { Sql } from '#kit/database/database.ts';
import { sqlState, sqlStates } from '#kit/database/postgres-error.ts';
import { guardedTables, type StorageState } from '#kit/database/storage-state.ts';
import { Conflict } from '#kit/errors.ts';
import { isRunning } from '#kit/storage/process-identity.ts';
import { inUse } from '#kit/storage-move/part.ts';

/** Of this database's advisory locks, the one of moves. */
const lockKey = 7_307_239_146;

/**
 * Until the transaction ends nobody else moves anything into the database or out of it; on the way to files nobody writes either.
 * @throws Conflict (`storage_move_held`, `storage_in_use`)
 */
export async function holdDatabase(
  held: Sql,
  name: string,
  { toFiles }: { readonly toFiles: boolean },
): Promise<void> {
  await held.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  const [lock] = await held.query<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS taken', [
    lockKey,
  ]);
  if (lock?.taken !== true)
    throw new Conflict('storage_move_held', `another host moves something into ${name} or out of it`, {
      hint: 'Wait until it has come to its end.',
    });
  if (!toFiles) return;
  await requireNobodyConnected(held, name);
  await lockTables(held, name);
  await requireNoLease(held, name);
}

async function requireNobodyConnected(held: Sql, name: string): Promise<void> {
  const rows = await held.query<{ service: string; host: string | null }>(
    `SELECT application_name AS service, host(client_addr) AS host FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND application_name LIKE 'core-%' AND application_name <> 'core-storage'
     GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  if (rows.length === 0) return;
  const who = rows
    .map(({ service, host }) => (host === null ? service : `${service} from ${host}`))
    .join(', ');
  throw inUse(
    `${name} is in use: ${who}`,
    'Stop the services of every host first: ./core up, or their containers.',
  );
}

async function lockTables(held: Sql, name: string): Promise<void> {
  try {
    await held.query("SET LOCAL lock_timeout = '5s'");
    await held.query(`LOCK TABLE ${(await guardedTables(held)).join(', ')} IN EXCLUSIVE MODE`);
    await held.query('SET LOCAL lock_timeout = 0');
  } catch (error) {
    if (sqlState(error) !== sqlStates.lockNotAvailable) throw error;
    throw inUse(`${name} is in use: somebody writes to it`, 'Stop the services of every host first.');
  }
}

async function requireNoLease(held: Sql, name: string): Promise<void> {
  const rows = await held.query<Parameters<typeof isRunning>[0] & { name: string; until: number }>(
    'SELECT *, expires_at AS until FROM leases WHERE expires_at > core_clock_ms() ORDER BY name',
  );
  const row = rows.find((one) => isRunning(one) !== false);
  if (row === undefined) return;
  throw inUse(
    `${name} is in use: process ${row.pid} on ${row.host} holds ${row.name}, and has until ${new Date(row.until).toISOString()} to renew it`,
    'Stop the services of that host, or wait until then.',
  );
}

/** Of each database without a move: begun by itself, and of no matter. */
const passing: readonly string[] = ['leases', 'token_registry', 'bridge_ticks', 'bridge_delivery_lock'];

/** @throws Conflict (`storage_target_not_empty`) naming what is there */
export async function requireEmpty(sql: Sql, name: string, found: StorageState | null): Promise<void> {
  const there: string[] = [];
  for (const table of (await guardedTables(sql)).filter((one) => !passing.includes(one))) {
    const [row] = await sql.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
    if (row?.n !== 0) there.push(`${row?.n} rows in ${table}`);
  }
  if (there.length === 0) return;
  const whose = found === null ? '' : `, of ${found.place}`;
  throw new Conflict('storage_target_not_empty', `${name} is not empty${whose}: ${there.join(', ')}`, {
    facts: { database: name, there },
    hint: 'Name an empty database. A move never mixes two installations.',
  });
}
