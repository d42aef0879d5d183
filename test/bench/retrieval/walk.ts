import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Ingestion } from '../../../services/context/ingest/ingestion.ts';
import { openForReading, openForWriting } from '../../../services/context/record/connection.ts';
import { Readers, Writer } from '../../../services/context/store/access.ts';
import { migrate } from '../../../services/context/store/schema.ts';
import { PlainIndex } from './plain-index.ts';
import type { Question } from './questions.ts';

/** What may be asked at one commit of the walk. */
export interface Stop {
  readonly question: Question;
  /** The record, in which the parent's tree and its history are ingested, and nothing later. */
  readonly db: DatabaseSync;
  readonly plain: PlainIndex;
}

/** Goes from one question's parent to the next, ingesting what changed, as the service does. */
export async function walk(
  repository: { readonly path: string; readonly gitDir: string },
  questions: readonly Question[],
  visit: (stop: Stop) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'core-retrieval-'));
  const path = join(folder, 'record.sqlite');
  const first = openForWriting(path);
  migrate(first);
  first.close();
  const [writer, readers, db] = [new Writer(path), new Readers(path, 1), openForReading(path)];
  const ingestion = new Ingestion({
    writer,
    readers,
    config: { repositories: {}, ingestion: { max_file_bytes: 1024 * 1024, history_commits: 2000 } },
    configFile: 'context.json',
  });
  const plain = new PlainIndex(repository.gitDir);
  try {
    for (const question of questions) {
      const { parent: commit } = question;
      const wanted = { name: 'bench/repository', path: repository.path, commit };
      const [outcome] = await ingestion.refresh({ repositories: [wanted], full: false });
      if (outcome === undefined || 'error' in outcome)
        throw new Error(`${commit} was not ingested: ${outcome?.error.detail}`);
      await plain.moveTo(commit);
      visit({ question, db, plain });
    }
  } finally {
    db.close();
    await readers.close();
    await writer.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
