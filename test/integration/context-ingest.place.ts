import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { FailedRepository, RefreshedRepository } from '#kit/contracts/context/refresh.ts';
import { Ingestion } from '../../services/context/ingest/ingestion.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { Readers, Writer } from '../../services/context/store/access.ts';
import { migrate } from '../../services/context/store/schema.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

export interface IngestPlace {
  readonly ingestion: Ingestion;
  /** What was asked of the record, oldest first. */
  readonly asked: { readonly name: string; readonly input: unknown }[];
  /** The record as a reader of the file sees it. */
  readonly db: DatabaseSync;
  /** Refreshes one repository that must be readable. */
  refresh(path: string, full?: boolean): Promise<RefreshedRepository>;
  /** Ids of what is valid now, without the repository's own name. */
  nodes(kind?: string): string[];
  /** `from -> to` of what is valid now, and the weight. */
  edges(kind: string, withWeight?: boolean): string[];
  close(): Promise<void>;
}

/** A record of its own with an ingestion; every repository goes by the name `r`. */
export function openIngestPlace(
  folder: string = temporaryFolder(),
  { maxFileBytes = 1_048_576, thread }: { readonly maxFileBytes?: number; readonly thread?: URL } = {},
): IngestPlace {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'record.sqlite');
  const made = openForWriting(path);
  migrate(made);
  made.close();
  const writer = new Writer(path);
  const readers = new Readers(path, 1);
  const config = { repositories: {}, ingestion: { max_file_bytes: maxFileBytes, history_commits: 100 } };
  const asked: IngestPlace['asked'] = [];
  const watched: typeof readers.ask = (name, input) => {
    asked.push({ name, input });
    return readers.ask(name, input);
  };
  const ingestion = new Ingestion({
    writer,
    readers: { ask: watched },
    config,
    configFile: 'context.json',
    ...(thread && { thread }),
  });
  const db = new DatabaseSync(path, { readOnly: true });
  const short = (id: unknown) => String(id).replace(/:r(?=:|$)/, '');
  return {
    ingestion,
    asked,
    db,
    async refresh(path, full = false) {
      const [result] = await ingestion.refresh({ repositories: [{ name: 'r', path }], full });
      return succeeded(result!);
    },
    nodes: (kind) =>
      db
        .prepare('SELECT id FROM nodes WHERE valid_to IS NULL AND kind = coalesce(?, kind) ORDER BY id')
        .all(kind ?? null)
        .map(({ id }) => short(id)),
    edges: (kind, withWeight = false) =>
      db
        .prepare(
          `SELECT f.id AS source, t.id AS target, e.weight FROM edges e JOIN nodes f ON f.node = e.from_node
           JOIN nodes t ON t.node = e.to_node WHERE e.kind = ? AND e.valid_to IS NULL ORDER BY 1, 2`,
        )
        .all(kind)
        .map(
          ({ source, target, weight }) =>
            `${short(source)} -> ${short(target)}${withWeight ? ` ${weight}` : ''}`,
        ),
    async close() {
      db.close();
      await readers.close();
      await writer.close();
    },
  };
}

export function succeeded(result: RefreshedRepository | FailedRepository): RefreshedRepository {
  if ('error' in result) throw new Error(`${result.error.code}: ${result.error.detail}`);
  return result;
}
