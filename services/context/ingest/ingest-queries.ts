import type { DatabaseSync } from 'node:sqlite';
import type { LanguageName } from './extraction/languages.ts';
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

export interface FactsOfFile {
  readonly path: string;
  readonly language: LanguageName;
  readonly uses: string;
}

interface OfFiles {
  readonly repository: string;
  readonly paths: readonly string[];
}

function factsOfFiles(db: DatabaseSync, { repository, paths }: OfFiles): FactsOfFile[] {
  return db
    .prepare(
      `SELECT i.path, i.language, i.uses FROM json_each(?2) p CROSS JOIN ingested_files i
       ON i.repository = ?1 AND i.path = p.value WHERE i.language IS NOT NULL`,
    )
    .all(repository, JSON.stringify(paths)) as unknown as FactsOfFile[];
}

/** What `relink` says, and what files say about how they are imported. */
function importFacts(
  db: DatabaseSync,
  { repository }: { readonly repository: string },
): { relink: number; modules: { path: string; module: string }[] } {
  const row = db.prepare('SELECT relink FROM ingested_repositories WHERE repository = ?').get(repository);
  const modules = db
    .prepare(
      'SELECT path, module FROM ingested_files WHERE repository = ? AND module IS NOT NULL ORDER BY path',
    )
    .all(repository) as { path: string; module: string }[];
  return { relink: (row?.relink as number | undefined) ?? 1, modules };
}

/** A symbol as linking knows it. */
export interface StoredSymbol {
  readonly id: string;
  readonly path: string;
  /** Its qualified name. */
  readonly title: string;
  readonly sort: string;
  readonly language: LanguageName;
}

function symbolsNamed(
  db: DatabaseSync,
  { repository, names }: { readonly repository: string; readonly names: readonly string[] },
): StoredSymbol[] {
  return db
    .prepare(
      `SELECT n.id, n.path, n.title, n.properties ->> '$.sort' AS sort, n.properties ->> '$.language' AS language
       FROM json_each(?2) w CROSS JOIN symbol_names s ON s.repository = ?1 AND s.name = w.value
       CROSS JOIN nodes n ON n.node = s.node AND n.valid_to IS NULL ORDER BY w.key, n.id`,
    )
    .all(repository, JSON.stringify(names)) as unknown as StoredSymbol[];
}

function openDirectories(db: DatabaseSync, { repository }: { readonly repository: string }): string[] {
  const rows = db
    .prepare("SELECT path FROM nodes WHERE kind = 'directory' AND repository = ? AND valid_to IS NULL")
    .all(repository) as { path: string }[];
  return rows.map(({ path }) => path);
}

/** How many files of the repository are kept and left out, and how many of its symbols, and edges that ingestion made, are valid now. A folder, file or part has one edge that leads to it. */
function ingestedTotals(
  db: DatabaseSync,
  { repository }: { readonly repository: string },
): { symbols: number; edges: number; kept: { skipped: SkippedByContent | null; files: number }[] } {
  const kept = db
    .prepare(
      `SELECT skipped, count(*) AS files FROM ingested_files WHERE repository = ? AND source IS NOT NULL GROUP BY skipped`,
    )
    .all(repository) as { skipped: SkippedByContent | null; files: number }[];
  const sums = db
    .prepare(
      `SELECT coalesce(sum(symbols), 0) AS symbols, coalesce(sum(1 + parts + edges), 0)
         + (SELECT count(*) FROM nodes WHERE kind = 'directory' AND repository = ?1 AND valid_to IS NULL) AS edges
       FROM ingested_files WHERE repository = ?1 AND skipped IS NULL AND source IS NOT NULL`,
    )
    .get(repository) as { symbols: number; edges: number };
  return { ...sums, kept };
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
  factsOfFiles,
  importFacts,
  symbolsNamed,
  openDirectories,
  ingestedTotals,
  ingestedRepositories,
} as const;
