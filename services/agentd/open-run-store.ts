import { readS3Settings } from '#kit/config/storage.ts';
import { openDatabase } from '#kit/database/open-database.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { DatabaseRunStore, type DatabaseRunStoreOptions } from './runs/database-run-store.ts';
import type { RunObjects } from './runs/rows/run-artifacts.ts';
import { agentdSchema } from './schema.ts';

/** Opens the run store that `storage` in core.json selects. */
export async function openRunStore(
  folders: Pick<Folders, 'config' | 'state'>,
  options: Pick<DatabaseRunStoreOptions, 'secrets' | 'warn' | 'clock'> = {},
): Promise<DatabaseRunStore> {
  const { warn } = options;
  return new DatabaseRunStore({
    ...options,
    stateDir: folders.state,
    database: await openDatabase(folders, agentdSchema, {
      application: 'core-agentd',
      pool: 'runs',
      ...(warn === undefined ? {} : { warn }),
    }),
    objects: await openObjects(folders),
  });
}

/** Object store for large artifacts, from core.json; null if all artifacts are in the database. */
export async function openObjects(folders: Pick<Folders, 'config'>): Promise<RunObjects | null> {
  const settings = readS3Settings(folders);
  if (settings === null) return null;
  const { openS3 } = await import('#kit/objects/s3.ts');
  return { store: openS3(settings, environment), minBytes: settings.min_bytes };
}
