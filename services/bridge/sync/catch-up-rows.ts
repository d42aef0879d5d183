import type { Database } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';

export interface KnownRepository {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  /** Milliseconds since 1970, by the forge's clock: what changed before is known. */
  readonly since: number;
}

/** Position of each repository up to which its forge was asked for missing deliveries, by the forge's clock. */
export function catchUpTables({ text, integer, strict }: ColumnTypes): string {
  return `
    CREATE TABLE bridge_catch_ups (
      forge ${text} NOT NULL,
      owner ${text} NOT NULL,
      repo ${text} NOT NULL,
      until ${integer} NOT NULL,
      PRIMARY KEY (forge, owner, repo)
    )${strict};`;
}

/**
 * How far each repository was asked, never ahead of the database's clock: what a forge's clock said once while it was wrong counts as
 * now. One that never was begins at its first delivery: others may be missing between those that came.
 */
export class CatchUpRows {
  readonly #database: Pick<Database, 'query' | 'write'>;

  constructor(database: Pick<Database, 'query' | 'write'>) {
    this.#database = database;
  }

  known(): Promise<readonly KnownRepository[]> {
    return this.#database.query<KnownRepository>(
      `SELECT forge, owner, repo, least(until, core_clock_ms()) AS since FROM (
        SELECT forge, owner, repo, until FROM bridge_catch_ups
        UNION ALL
        SELECT forge, owner, repo, 1000 * (min(occurred_at) / 1000) FROM bridge_events
        WHERE source NOT IN ('dashboard', 'schedule') AND forge IS NOT NULL
          AND (forge, owner, repo) NOT IN (SELECT forge, owner, repo FROM bridge_catch_ups)
        GROUP BY forge, owner, repo) AS known
      ORDER BY forge, owner, repo`,
    );
  }

  /** Everything that changed before `until` was taken up. */
  async passed({ forge, owner, repo }: Omit<KnownRepository, 'since'>, until: number): Promise<void> {
    await this.#database.write(
      `INSERT INTO bridge_catch_ups AS known (forge, owner, repo, until) VALUES ($1, $2, $3, least($4, core_clock_ms()))
      ON CONFLICT (forge, owner, repo) DO UPDATE SET until =
        CASE WHEN known.until > core_clock_ms() THEN excluded.until ELSE greatest(known.until, excluded.until) END`,
      [forge, owner, repo, until],
    );
  }
}
