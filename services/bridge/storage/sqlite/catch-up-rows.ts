import type { DatabaseSync } from 'node:sqlite';
import type { CatchUpRows, KnownRepository } from '../../sync/catch-up.ts';

/** How far each repository was asked, in `queue.sqlite`. */
export class SqliteCatchUpRows implements CatchUpRows {
  readonly #db: DatabaseSync;
  readonly #now: () => number;

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  async known(): Promise<readonly KnownRepository[]> {
    const sql = `
      SELECT forge, owner, repo, until AS since FROM catch_ups
      UNION ALL
      SELECT forge, owner, repo, 1000 * min(at) AS since FROM (
        SELECT json_extract(facts, '$.target.forge') AS forge, json_extract(facts, '$.target.owner') AS owner,
          json_extract(facts, '$.target.repo') AS repo, unixepoch(json_extract(facts, '$.content.occurred_at')) AS at
        FROM events WHERE source NOT IN ('dashboard', 'schedule') AND target IS NOT NULL)
      WHERE forge IS NOT NULL AND (forge, owner, repo) NOT IN (SELECT forge, owner, repo FROM catch_ups)
      GROUP BY forge, owner, repo
      ORDER BY forge, owner, repo`;
    const now = this.#now();
    const known = this.#db.prepare(sql).all() as unknown as KnownRepository[];
    return known.map((one) => ({ ...one, since: Math.min(one.since, now) }));
  }

  async passed({ forge, owner, repo }: Omit<KnownRepository, 'since'>, until: number): Promise<void> {
    const sql = `
      INSERT INTO catch_ups (forge, owner, repo, until) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET until = iif(until > ?, excluded.until, max(until, excluded.until))`;
    const now = this.#now();
    this.#db.prepare(sql).run(forge, owner, repo, Math.min(until, now), now);
  }
}
