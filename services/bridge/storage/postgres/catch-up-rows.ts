import type { Database } from '#kit/database/database.ts';
import type { CatchUpRows, KnownRepository } from '../../sync/catch-up.ts';

/** How far each repository was asked, in the database that several bridges share. */
export class PostgresCatchUpRows implements CatchUpRows {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  async known(): Promise<readonly KnownRepository[]> {
    const rows = await this.#database.query<Omit<KnownRepository, 'since'> & { since: string }>(
      `SELECT forge, owner, repo, least(until, core_clock_ms()) AS since FROM (
        SELECT forge, owner, repo, until FROM bridge_catch_ups
        UNION ALL
        SELECT forge, owner, repo, 1000 * (min(occurred_at) / 1000) FROM bridge_events
        WHERE source NOT IN ('dashboard', 'schedule') AND forge IS NOT NULL
          AND (forge, owner, repo) NOT IN (SELECT forge, owner, repo FROM bridge_catch_ups)
        GROUP BY forge, owner, repo) AS known
      ORDER BY forge COLLATE "C", owner COLLATE "C", repo COLLATE "C"`,
    );
    return rows.map((row) => ({ ...row, since: Number(row.since) }));
  }

  async passed({ forge, owner, repo }: Omit<KnownRepository, 'since'>, until: number): Promise<void> {
    await this.#database.query(
      `INSERT INTO bridge_catch_ups AS known (forge, owner, repo, until) VALUES ($1, $2, $3, least($4::bigint, core_clock_ms()))
      ON CONFLICT (forge, owner, repo) DO UPDATE SET until =
        CASE WHEN known.until > core_clock_ms() THEN excluded.until ELSE greatest(known.until, excluded.until) END`,
      [forge, owner, repo, until],
    );
  }
}
