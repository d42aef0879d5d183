import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { Failed } from '../errors.ts';
import { storageMoved } from './postgres-error.ts';

const folder = fileURLToPath(new URL('./migrations/', import.meta.url));
const table = 'core_migrations';
/** Of this database's advisory locks, the one of migrations. */
const lockKey = 7_307_239_144;

/**
 * Brings the tables up to date, in one transaction and one host at a time. Tables only grow (expand) while two versions of Core can
 * run side by side; a migration that takes something away has `contract` in its name, and a Core that does not know it refuses to run.
 * @throws Failed (`database_newer`), Conflict (`storage_moved`)
 */
export async function migrateDatabase(
  config: pg.ClientConfig,
  { name, mover }: { readonly name: string; readonly mover: string | null },
): Promise<void> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  await client.connect();
  try {
    const known = readdirSync(folder).map((file) => file.replace(/\.sql$/, ''));
    const before = await applied(client);
    requireKnown(before, known, name);
    if (!known.every((migration) => before.includes(migration))) await migrateAll(client);
    if (mover === null) await requireDatabaseInUse(client, name);
  } finally {
    await client.end().catch(() => {});
  }
}

async function migrateAll(client: pg.Client): Promise<void> {
  // Its lock is the transaction's: PgBouncer in transaction mode gives the next statement another connection.
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
  await runner({
    dbClient: client,
    dir: folder,
    direction: 'up',
    migrationsTable: table,
    noLock: true,
    checkOrder: false,
    singleTransaction: true,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  await client.query('COMMIT');
}

async function applied(client: pg.Client): Promise<string[]> {
  const found = await client.query<{ present: boolean }>('SELECT to_regclass($1) IS NOT NULL AS present', [
    table,
  ]);
  if (found.rows[0]?.present !== true) return [];
  const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${table} ORDER BY id`);
  return rows.map(({ name }) => name);
}

function requireKnown(present: readonly string[], known: readonly string[], name: string): void {
  const unknown = present.filter((migration) => !known.includes(migration) && migration.includes('contract'));
  if (unknown.length === 0) return;
  throw new Failed(
    'database_newer',
    `${name} was changed by a newer Core (${unknown.join(', ')}), which this one cannot work with`,
    {
      hint: 'Upgrade Core on this host to the version that the others run.',
    },
  );
}

/** @throws Conflict (`storage_moved`) where a move fills the database, or went on elsewhere */
async function requireDatabaseInUse(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ state: string; place: string; at: Date }>(
    "SELECT state, place, at FROM storage_state WHERE state <> 'used'",
  );
  const [row] = rows;
  if (row === undefined) return;
  const at = row.at.toISOString();
  throw storageMoved(
    name,
    row.state === 'moved'
      ? `what was in it moved to ${row.place} on ${at}`
      : `a move from ${row.place} into it, begun on ${at}, has not come to its end`,
  );
}
