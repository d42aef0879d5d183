import type { Database } from '../database/database.ts';
import { Unavailable } from '../errors.ts';
import { changesBetween } from './shared-records.ts';
import type { FormerToken, TokenRecord } from './token.ts';

interface Row {
  readonly sha256: string;
  readonly name: string;
  readonly kind: TokenRecord['kind'];
  readonly scopes: TokenRecord['scopes'];
  readonly host: string;
  readonly created: Date;
  readonly expires: Date | null;
  readonly revoked: Date | null;
  readonly former: readonly FormerToken[];
}

interface LookRow extends Omit<Row, 'sha256'> {
  readonly sha256: string | null;
  readonly version: string;
  readonly now: Date;
  readonly standby: boolean;
}

export interface Look {
  readonly version: string;
  /** null where they are those of the version that was known. */
  readonly records: readonly TokenRecord[] | null;
  /** By the database's clock. */
  readonly now: number;
}

/** One statement, so that version and records belong together. @throws Unavailable, Failed */
export async function lookAtRecords(database: Database, known: string | null): Promise<Look> {
  const rows = await database.query<LookRow>(
    `SELECT token_registry.version::text AS version, clock_timestamp() AS now, pg_is_in_recovery() AS standby, tokens.*
     FROM token_registry LEFT JOIN tokens ON token_registry.version::text IS DISTINCT FROM $1
     ORDER BY tokens.position`,
    [known],
  );
  const { version, now, standby } = rows[0]!;
  if (standby)
    throw new Unavailable(
      'database_unavailable',
      `${database.name} is a standby, which may not have heard of a revocation yet`,
      { retryAfter: 5, hint: 'Point storage.url at the primary.' },
    );
  if (version === known) return { version, records: null, now: now.getTime() };
  const present = rows.filter((row): row is LookRow & Row => row.sha256 !== null);
  return { version, records: present.map(recordOf), now: now.getTime() };
}

/**
 * One change at a time over all hosts.
 * @param next unchanged records are the same objects
 * @throws Unavailable (`database_unavailable`), also where the change may have been made
 */
export async function changeRecords(
  database: Database,
  next: (records: readonly TokenRecord[], now: number) => readonly TokenRecord[],
): Promise<void> {
  await database.transaction(async (sql) => {
    const [row] = await sql.query<{ now: Date }>(
      'UPDATE token_registry SET version = gen_random_uuid() RETURNING clock_timestamp() AS now',
    );
    const before = (await sql.query<Row>('SELECT * FROM tokens ORDER BY position')).map(recordOf);
    const { written, gone } = changesBetween(before, next(before, row!.now.getTime()));
    if (gone.length > 0) await sql.query('DELETE FROM tokens WHERE sha256 = ANY($1)', [gone]);
    for (const { sha256, name, kind, scopes, host, created, expires, revoked, former = [] } of written)
      await sql.query(
        `INSERT INTO tokens (sha256, name, kind, scopes, host, created, expires, revoked, former)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (sha256) DO UPDATE SET scopes = excluded.scopes, revoked = excluded.revoked`,
        [sha256, name, kind, scopes, host ?? '', created, expires, revoked, JSON.stringify(former)],
      );
  });
}

function recordOf({ sha256, name, kind, scopes, host, created, expires, revoked, former }: Row): TokenRecord {
  return {
    name,
    kind,
    scopes,
    sha256,
    created: created.toISOString(),
    expires: expires?.toISOString() ?? null,
    revoked: revoked?.toISOString() ?? null,
    former: former.length === 0 ? undefined : [...former],
    host,
  };
}
