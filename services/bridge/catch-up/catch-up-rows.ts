import type { DatabaseSync, StatementSync } from 'node:sqlite';

export interface KnownRepository {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  /** Milliseconds since 1970, by the forge's clock: what changed before is known. */
  readonly since: number;
}

/**
 * How far each repository was asked, never ahead of our own clock: what a forge's clock said once while it was wrong counts as now.
 * One that never was begins at its first delivery: others may be missing between those that came.
 */
export class CatchUpRows {
  readonly #known: StatementSync;
  readonly #passed: StatementSync;

  constructor(db: DatabaseSync) {
    this.#known = db.prepare(`
      SELECT forge, owner, repo, until AS since FROM catch_ups
      UNION ALL
      SELECT forge, owner, repo, 1000 * min(at) AS since FROM (
        SELECT json_extract(facts, '$.target.forge') AS forge, json_extract(facts, '$.target.owner') AS owner,
          json_extract(facts, '$.target.repo') AS repo, unixepoch(json_extract(facts, '$.content.occurred_at')) AS at
        FROM events WHERE source NOT IN ('dashboard', 'schedule') AND target IS NOT NULL)
      WHERE forge IS NOT NULL AND (forge, owner, repo) NOT IN (SELECT forge, owner, repo FROM catch_ups)
      GROUP BY forge, owner, repo
      ORDER BY forge, owner, repo`);
    this.#passed = db.prepare(`
      INSERT INTO catch_ups (forge, owner, repo, until) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET until = iif(until > ?, excluded.until, max(until, excluded.until))`);
  }

  known(): readonly KnownRepository[] {
    const now = Date.now();
    const known = this.#known.all() as unknown as KnownRepository[];
    return known.map((one) => ({ ...one, since: Math.min(one.since, now) }));
  }

  /** Everything that changed before `until` was taken up. */
  passed({ forge, owner, repo }: Omit<KnownRepository, 'since'>, until: number): void {
    const now = Date.now();
    this.#passed.run(forge, owner, repo, Math.min(until, now), now);
  }
}
