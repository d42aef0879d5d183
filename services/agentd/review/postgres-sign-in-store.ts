import { decodeJson } from '#kit/decode.ts';
import type { Database, Sql } from '#kit/postgres/database.ts';
import { postgresText } from '#kit/postgres/postgres-text.ts';
import { ownerKey, SessionOwner } from './session-owner.ts';
import {
  Attempt,
  limits,
  type Session,
  type SignInInstead,
  type SignInLink,
  type SignInStore,
} from './sign-in-store.ts';

interface SessionRow {
  readonly sha256: string;
  readonly owner: string;
  readonly created_at: string;
  readonly expires_at: string;
}

const inForce = 'expires_at > (SELECT core_clock_ms())';

/** Of all daemons on one database: whoever is signed in at one is signed in at each. */
export class PostgresSignInStore implements SignInStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async addLink(sha256: string, owner: SessionOwner, ms: number): Promise<string> {
    return this.#database.transaction(async (sql) => {
      const [added] = await sql.query<{ expires_at: string }>(
        `INSERT INTO review_links (sha256, owner_key, owner, expires_at)
        VALUES ($1, $2, $3, core_clock_ms() + $4) RETURNING expires_at`,
        [sha256, ...ownerColumns(owner), ms],
      );
      await clearAway(sql, 'review_links', limits.links);
      return timestamp(added!.expires_at);
    });
  }

  async link(sha256: string): Promise<SignInLink | null> {
    const [row] = await this.#database.query<{ owner: string; browser: string | null }>(
      `SELECT owner, browser FROM review_links WHERE sha256 = $1 AND ${inForce}`,
      [sha256],
    );
    return row === undefined ? null : { owner: ownerOf(row), browser: row.browser };
  }

  async giveLink(sha256: string, browser: string): Promise<boolean> {
    const given = await this.#database.query(
      `UPDATE review_links SET browser = $2
      WHERE sha256 = $1 AND (browser IS NULL OR browser = $2) AND ${inForce} RETURNING 1`,
      [sha256, browser],
    );
    return given.length > 0;
  }

  async begin(
    sha256: string,
    owner: SessionOwner,
    ms: number,
    { link, session }: SignInInstead,
  ): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      if (link !== null) {
        const used = await sql.query(
          `DELETE FROM review_links WHERE sha256 = $1 AND browser = $2 AND ${inForce} RETURNING 1`,
          [link.sha256, link.browser],
        );
        if (used.length === 0) return false;
      }
      if (session !== null) await sql.query('DELETE FROM review_sessions WHERE sha256 = $1', [session]);
      await sql.query(
        `INSERT INTO review_sessions (sha256, owner_key, owner, created_at, expires_at)
        SELECT $1, $2, $3, now, now + $4 FROM core_clock_ms() AS now`,
        [sha256, ...ownerColumns(owner), ms],
      );
      await clearAway(sql, 'review_sessions', limits.sessions);
      return true;
    });
  }

  async session(sha256: string): Promise<Session | null> {
    const [row] = await this.#database.query<SessionRow>(
      `SELECT sha256, owner, created_at, expires_at FROM review_sessions WHERE sha256 = $1 AND ${inForce}`,
      [sha256],
    );
    return row === undefined ? null : sessionOf(row);
  }

  async sessions(): Promise<readonly Session[]> {
    const rows = await this.#database.query<SessionRow>(
      `SELECT sha256, owner, created_at, expires_at FROM review_sessions WHERE ${inForce} ORDER BY seq`,
    );
    return rows.map(sessionOf);
  }

  async end(sha256: string): Promise<boolean> {
    const ended = await this.#database.query(
      `DELETE FROM review_sessions WHERE sha256 = $1 AND ${inForce} RETURNING 1`,
      [sha256],
    );
    return ended.length > 0;
  }

  async endAll(key: string): Promise<number> {
    return this.#database.transaction(async (sql) => {
      // First: a link that is being used is waited for, and the statement after it sees the session.
      await sql.query('DELETE FROM review_links WHERE owner_key = $1', [key]);
      const ended = await sql.query<{ counts: boolean }>(
        `DELETE FROM review_sessions WHERE owner_key = $1 RETURNING ${inForce} AS counts`,
        [key],
      );
      return ended.filter(({ counts }) => counts).length;
    });
  }

  async addAttempt(sha256: string, attempt: Attempt, browser: string, ms: number): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await sql.query(
        `INSERT INTO review_attempts (sha256, browser, attempt, expires_at) VALUES ($1, $2, $3, core_clock_ms() + $4)`,
        [sha256, browser, postgresText(JSON.stringify(attempt)), ms],
      );
      await clearAway(sql, 'review_attempts', limits.attempts);
    });
  }

  async hasAttempt(browser: string): Promise<boolean> {
    const found = await this.#database.query(
      `SELECT 1 FROM review_attempts WHERE browser = $1 AND ${inForce} LIMIT 1`,
      [browser],
    );
    return found.length > 0;
  }

  async takeAttempt(sha256: string, browser: string): Promise<Attempt | null> {
    const [row] = await this.#database.query<{ attempt: string }>(
      `DELETE FROM review_attempts WHERE sha256 = $1 AND browser = $2 AND ${inForce} RETURNING attempt`,
      [sha256, browser],
    );
    return row === undefined ? null : decodeJson(Attempt, row.attempt, 'a sign-in in PostgreSQL');
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

/** What has ended, and the oldest beyond `most`. */
async function clearAway(
  sql: Sql,
  table: 'review_sessions' | 'review_links' | 'review_attempts',
  most: number,
): Promise<void> {
  await sql.query(
    `DELETE FROM ${table} WHERE expires_at <= (SELECT core_clock_ms())
      OR seq <= (SELECT seq FROM ${table} ORDER BY seq DESC OFFSET ${most} LIMIT 1)`,
  );
}

function ownerColumns(owner: SessionOwner): [key: string, owner: string] {
  return [postgresText(ownerKey(owner)), postgresText(JSON.stringify(owner))];
}

function ownerOf({ owner }: { readonly owner: string }): SessionOwner {
  return decodeJson(SessionOwner, owner, 'a session in PostgreSQL');
}

function sessionOf(row: SessionRow): Session {
  const { sha256, created_at, expires_at } = row;
  return { sha256, owner: ownerOf(row), created: timestamp(created_at), expires: timestamp(expires_at) };
}

function timestamp(ms: string): string {
  return new Date(Number(ms)).toISOString();
}
