import { hostname } from 'node:os';
import type { Database, Sql } from '#kit/database/database.ts';
import type { FencedLeases } from '#kit/database/fenced-leases.ts';
import { fenceRecord } from './lease.ts';

/** A part of the record's file, in the bucket. */
export interface Piece {
  readonly piece: number;
  /** sha256 of its bytes, in hex. */
  readonly digest: string;
}

/** A whole copy of the record at one moment. */
export interface Backup {
  readonly backup: number;
  /** Identity of the record. */
  readonly record: string;
  /** The last entry of the journal that is in it. */
  readonly applied: number;
  readonly bytes: number;
  /** In the order of the file. */
  readonly pieces: readonly Piece[];
  readonly host: string;
  readonly at: Date;
}

interface BackupRow {
  readonly backup: string;
  readonly record: string;
  readonly applied: string;
  readonly bytes: string;
  readonly pieces: readonly number[];
  readonly digests: readonly string[];
  readonly host: string;
  readonly at: Date;
}

interface PieceRow {
  readonly piece: string;
  readonly digest: string;
}

function pieceOf({ piece, digest }: PieceRow): Piece {
  return { piece: Number(piece), digest };
}

/** The name of a piece in the bucket; never given to anything else. */
export function objectOf({ piece, digest }: Piece): string {
  return `context/${digest}-${piece}`;
}

/** What PostgreSQL knows of backups. Only whoever has the lease changes it, but for what is to be deleted. */
export class BackupRows {
  readonly #database: Database;
  readonly #leases: FencedLeases;

  constructor(database: Database, leases: FencedLeases) {
    this.#database = database;
    this.#leases = leases;
  }

  /** Those that are kept, the newest first. */
  async list(): Promise<Backup[]> {
    const rows = await this.#database.query<BackupRow>(
      `SELECT b.backup, b.record, b.applied, b.bytes, b.host, b.at, b.pieces::float8[] AS pieces,
              array(SELECT p.digest FROM unnest(b.pieces) WITH ORDINALITY AS u (piece, place)
                    JOIN context_pieces p USING (piece) ORDER BY u.place) AS digests
       FROM context_backups b ORDER BY b.backup DESC`,
    );
    return rows.map((row) => ({
      ...row,
      backup: Number(row.backup),
      applied: Number(row.applied),
      bytes: Number(row.bytes),
      pieces: row.pieces.map((piece, index) => ({ piece, digest: row.digests[index]! })),
    }));
  }

  /** Whether a record with one of these identities was ever backed up here. */
  async knows(records: readonly string[]): Promise<boolean> {
    const rows = await this.#database.query('SELECT 1 FROM context_records WHERE record = ANY($1)', [
      records,
    ]);
    return rows.length > 0;
  }

  /** From now on `knows` it. */
  learn(record: string): Promise<void> {
    return this.#fenced((sql) => noteRecord(sql, record));
  }

  /** Pieces of all backups, but for damaged ones. */
  async sound(): Promise<Piece[]> {
    const rows = await this.#database.query<PieceRow>(
      'SELECT piece, digest FROM context_pieces WHERE NOT going AND piece IN (SELECT unnest(pieces) FROM context_backups)',
    );
    return rows.map(pieceOf);
  }

  /** Notes pieces before they are written. */
  note(digests: readonly string[]): Promise<Piece[]> {
    return this.#fenced(async (sql) => {
      const rows = await sql.query<PieceRow>(
        'INSERT INTO context_pieces (digest) SELECT unnest($1::text[]) RETURNING piece, digest',
        [digests],
      );
      return rows.map(pieceOf);
    });
  }

  /**
   * Names a backup whose pieces are all written, and lets go of what only older ones than `keep` need.
   * @throws Conflict (`lease_lost`)
   */
  publish(
    { record, applied, bytes, pieces }: Pick<Backup, 'record' | 'applied' | 'bytes' | 'pieces'>,
    keep: number,
  ): Promise<Pick<Backup, 'backup' | 'at'>> {
    const ids = pieces.map(({ piece }) => piece);
    return this.#fenced(async (sql) => {
      await requirePieces(sql, ids);
      const [row] = await sql.query<{ backup: string; at: Date }>(
        `INSERT INTO context_backups (record, applied, bytes, pieces, host) VALUES ($1, $2, $3, $4, $5)
         RETURNING backup, at`,
        [record, applied, bytes, ids, hostname()],
      );
      await noteRecord(sql, record);
      await sql.query(
        `DELETE FROM context_backups WHERE backup NOT IN
         (SELECT backup FROM context_backups ORDER BY backup DESC LIMIT $1)`,
        [keep],
      );
      await sql.query(
        `UPDATE context_pieces SET going = true
         WHERE NOT going AND piece NOT IN (SELECT unnest(pieces) FROM context_backups)`,
      );
      await sql.query('DELETE FROM context_journal WHERE seq <= (SELECT min(applied) FROM context_backups)');
      return { backup: Number(row!.backup), at: row!.at };
    });
  }

  /** A piece that is damaged or gone is part of no later backup. */
  async giveUp(pieces: readonly Piece[]): Promise<void> {
    await this.#database.query('UPDATE context_pieces SET going = true WHERE piece = ANY($1)', [
      pieces.map(({ piece }) => piece),
    ]);
  }

  /** What no backup needs. */
  async going(): Promise<Piece[]> {
    const rows = await this.#database.query<PieceRow>(
      'SELECT piece, digest FROM context_pieces WHERE going AND piece NOT IN (SELECT unnest(pieces) FROM context_backups)',
    );
    return rows.map(pieceOf);
  }

  async gone(pieces: readonly Piece[]): Promise<void> {
    await this.#database.query('DELETE FROM context_pieces WHERE going AND piece = ANY($1)', [
      pieces.map(({ piece }) => piece),
    ]);
  }

  #fenced<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (sql) => {
      await fenceRecord(this.#leases, sql);
      return work(sql);
    });
  }
}

async function noteRecord(sql: Sql, record: string): Promise<void> {
  await sql.query('INSERT INTO context_records VALUES ($1) ON CONFLICT DO NOTHING', [record]);
}

async function requirePieces(sql: Sql, ids: readonly number[]): Promise<void> {
  const [row] = await sql.query<{ found: number }>(
    'SELECT count(*)::int AS found FROM context_pieces WHERE piece = ANY($1) AND NOT going',
    [ids],
  );
  const wanted = new Set(ids).size;
  if (row?.found !== wanted) throw new Error(`of ${wanted} pieces of a backup, ${row?.found} are there`);
}
