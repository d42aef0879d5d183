import type { DatabaseSync } from 'node:sqlite';
import type { SkippedByContent } from './repository/listing.ts';

/** What the record holds of a file; see ingest-tables.ts. */
export interface IngestedFile {
  readonly path: string;
  readonly source: string | null;
  readonly skipped: SkippedByContent | null;
  readonly links: string | null;
}

function ingestedFiles(db: DatabaseSync, { repository }: { readonly repository: string }): IngestedFile[] {
  return db
    .prepare('SELECT path, source, skipped, links FROM ingested_files WHERE repository = ?')
    .all(repository) as unknown as IngestedFile[];
}

interface Page {
  readonly repository: string;
  /** Path of the last file of the page before; empty for the first. */
  readonly after: string;
  readonly limit: number;
}

export interface FactsOfFile {
  readonly path: string;
  readonly facts: string;
}

/** A query of one column of facts, sorted by path, as SQLite sorts text: by its bytes. */
function factsOfFiles(column: 'definitions' | 'uses') {
  return (db: DatabaseSync, { repository, after, limit }: Page) =>
    db
      .prepare(
        `SELECT path, ${column} AS facts FROM ingested_files
         WHERE repository = ? AND path > ? AND source IS NOT NULL AND skipped IS NULL ORDER BY path LIMIT ?`,
      )
      .all(repository, after, limit) as unknown as FactsOfFile[];
}

function openDirectories(db: DatabaseSync, { repository }: { readonly repository: string }): string[] {
  const rows = db
    .prepare("SELECT path FROM nodes WHERE kind = 'directory' AND repository = ? AND valid_to IS NULL")
    .all(repository) as { path: string }[];
  return rows.map(({ path }) => path);
}

/** How many symbols of the repository, and edges from its nodes that ingestion made, are valid now. */
function ingestedTotals(
  db: DatabaseSync,
  { repository }: { readonly repository: string },
): { symbols: number; edges: number } {
  return db
    .prepare(
      `SELECT
         (SELECT count(*) FROM nodes WHERE kind = 'symbol' AND repository = ?1 AND valid_to IS NULL) AS symbols,
         (SELECT count(*) FROM nodes f JOIN edges e ON e.from_node = f.node
          WHERE f.repository = ?1 AND f.kind IN ('repository', 'directory', 'file', 'document', 'symbol', 'section')
            AND e.type = 'CORE_RELATION' AND e.valid_to IS NULL
            AND e.kind IN ('contains', 'defines', 'imports', 'references', 'mentions', 'changed_with')) AS edges`,
    )
    .get(repository) as { symbols: number; edges: number };
}

export interface IngestedRepository {
  readonly repository: string;
  readonly path: string;
  readonly basis: string | null;
  readonly commit_id: string | null;
  readonly at: string | null;
  readonly totals: string | null;
}

/** Also those whose first ingestion was cut off. */
function ingestedRepositories(db: DatabaseSync, _all: null): IngestedRepository[] {
  return db
    .prepare(
      'SELECT repository, path, basis, commit_id, at, totals FROM ingested_repositories ORDER BY repository',
    )
    .all() as unknown as IngestedRepository[];
}

export const ingestQueries = {
  ingestedFiles,
  definitionsOfFiles: factsOfFiles('definitions'),
  usesOfFiles: factsOfFiles('uses'),
  openDirectories,
  ingestedTotals,
  ingestedRepositories,
} as const;
