import * as t from 'io-ts';
import type { Database, Sql } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';
import { decodeJson, nullable, Sha256, Timestamp } from '#kit/decode.ts';
import { ownerKey, SessionOwner } from './session-owner.ts';

export const Session = t.strict({
  /** Of the text in the cookie, which is kept nowhere. */
  sha256: Sha256,
  owner: SessionOwner,
  created: Timestamp,
  expires: Timestamp,
});
export type Session = t.TypeOf<typeof Session>;

/** A link that was not used yet. */
export interface SignInLink {
  readonly owner: SessionOwner;
  /** Digest of the text that the first browser got which opened it; null before one did. */
  readonly browser: string | null;
}

/** A sign-in under way at the identity provider. */
export const Attempt = t.strict({
  nonce: t.string,
  verifier: t.string,
  /** The run whose page is shown then; null for the list. */
  run: nullable(t.string),
  /** Digest of the session that the browser had: coming back from another site, it does not say. */
  before: nullable(Sha256),
  /** Which configuration it was begun with. */
  issuer: t.string,
  client_id: t.string,
});
export type Attempt = t.TypeOf<typeof Attempt>;

/** What a session takes the place of. */
export interface SignInInstead {
  /** The link that is used up. */
  readonly link: { readonly sha256: string; readonly browser: string } | null;
  /** Digest of the session that the browser had. */
  readonly session: string | null;
}

/** At most so many are kept; the oldest go. */
export const limits = { sessions: 1_000, links: 100, attempts: 10_000 } as const;

/** Tables of sign-ins, by digests. Times are milliseconds since 1970, by the clock of the database. */
export function signInTables({ identity, text, integer, strict }: ColumnTypes): string {
  return `
    CREATE TABLE review_sessions (
      seq ${identity},
      sha256 ${text} NOT NULL UNIQUE,
      owner_key ${text} NOT NULL,
      owner ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    )${strict};
    CREATE INDEX review_sessions_owner ON review_sessions (owner_key);

    -- Links that were not used. browser is the one that opened it first.
    CREATE TABLE review_links (
      seq ${identity},
      sha256 ${text} NOT NULL UNIQUE,
      owner_key ${text} NOT NULL,
      owner ${text} NOT NULL,
      browser ${text},
      expires_at ${integer} NOT NULL
    )${strict};

    -- Sign-ins under way at the identity provider.
    CREATE TABLE review_attempts (
      seq ${identity},
      sha256 ${text} NOT NULL UNIQUE,
      browser ${text} NOT NULL,
      attempt ${text} NOT NULL,
      expires_at ${integer} NOT NULL
    )${strict};
    CREATE INDEX review_attempts_browser ON review_attempts (browser);`;
}

interface SessionRow {
  readonly sha256: string;
  readonly owner: string;
  readonly created_at: number;
  readonly expires_at: number;
}

const inForce = 'expires_at > (SELECT core_clock_ms())';

/**
 * Who is signed in to the review page and who is about to be, by digests: texts that sign in are stored nowhere. All end by the clock
 * of the database; what has ended is not there. Whoever is signed in at one daemon is signed in at each on the same database.
 */
export class SignInStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param ms until it ends @returns when that is */
  async addLink(sha256: string, owner: SessionOwner, ms: number): Promise<string> {
    return this.#database.transaction(async (sql) => {
      const [added] = await sql.query<{ expires_at: number }>(
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

  /** Gives a link to the first browser. @returns whether it is this browser's */
  async giveLink(sha256: string, browser: string): Promise<boolean> {
    const given = await this.#database.write(
      `UPDATE review_links SET browser = $2
      WHERE sha256 = $1 AND (browser IS NULL OR browser = $2) AND ${inForce} RETURNING sha256`,
      [sha256, browser],
    );
    return given.length > 0;
  }

  /** All of it or nothing. @returns false where the link is not there, or another browser's */
  async begin(
    sha256: string,
    owner: SessionOwner,
    ms: number,
    { link, session }: SignInInstead,
  ): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      if (link !== null) {
        const used = await sql.query(
          `DELETE FROM review_links WHERE sha256 = $1 AND browser = $2 AND ${inForce} RETURNING sha256`,
          [link.sha256, link.browser],
        );
        if (used.length === 0) return false;
      }
      if (session !== null) await sql.query('DELETE FROM review_sessions WHERE sha256 = $1', [session]);
      await sql.query(
        `INSERT INTO review_sessions (sha256, owner_key, owner, created_at, expires_at)
        SELECT $1, $2, $3, now, now + $4 FROM (SELECT core_clock_ms() AS now) AS clock`,
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

  /** The oldest first. */
  async sessions(): Promise<readonly Session[]> {
    const rows = await this.#database.query<SessionRow>(
      `SELECT sha256, owner, created_at, expires_at FROM review_sessions WHERE ${inForce} ORDER BY seq`,
    );
    return rows.map(sessionOf);
  }

  async end(sha256: string): Promise<boolean> {
    const ended = await this.#database.write(
      `DELETE FROM review_sessions WHERE sha256 = $1 AND ${inForce} RETURNING sha256`,
      [sha256],
    );
    return ended.length > 0;
  }

  /** Ends the sessions and links of the owner with this key. @returns how many sessions */
  async endAll(key: string): Promise<number> {
    return this.#database.transaction(async (sql) => {
      // First: a link that is being used is waited for, and the statement after it sees the session.
      await sql.query('DELETE FROM review_links WHERE owner_key = $1', [key]);
      const ended = await sql.query<{ counts: number | boolean }>(
        `DELETE FROM review_sessions WHERE owner_key = $1 RETURNING ${inForce} AS counts`,
        [key],
      );
      return ended.filter(({ counts }) => Boolean(counts)).length;
    });
  }

  async addAttempt(sha256: string, attempt: Attempt, browser: string, ms: number): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await sql.query(
        `INSERT INTO review_attempts (sha256, browser, attempt, expires_at) VALUES ($1, $2, $3, core_clock_ms() + $4)`,
        [sha256, browser, JSON.stringify(attempt), ms],
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

  /** Ends the attempt of this browser. */
  async takeAttempt(sha256: string, browser: string): Promise<Attempt | null> {
    const [row] = await this.#database.write<{ attempt: string }>(
      `DELETE FROM review_attempts WHERE sha256 = $1 AND browser = $2 AND ${inForce} RETURNING attempt`,
      [sha256, browser],
    );
    return row === undefined ? null : decodeJson(Attempt, row.attempt, 'a sign-in in the database');
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

/** Deletes ended rows, and the oldest beyond `most`. */
async function clearAway(
  sql: Sql,
  table: 'review_sessions' | 'review_links' | 'review_attempts',
  most: number,
): Promise<void> {
  await sql.query(
    `DELETE FROM ${table} WHERE expires_at <= (SELECT core_clock_ms())
      OR seq <= (SELECT seq FROM ${table} ORDER BY seq DESC LIMIT 1 OFFSET ${most})`,
  );
}

function ownerColumns(owner: SessionOwner): [key: string, owner: string] {
  return [ownerKey(owner), JSON.stringify(owner)];
}

function ownerOf({ owner }: { readonly owner: string }): SessionOwner {
  return decodeJson(SessionOwner, owner, 'a session in the database');
}

function sessionOf(row: SessionRow): Session {
  const { sha256, created_at, expires_at } = row;
  return { sha256, owner: ownerOf(row), created: timestamp(created_at), expires: timestamp(expires_at) };
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
