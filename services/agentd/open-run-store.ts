import { readPostgresSettings, readS3Settings } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { FileRunStore, type RunStoreOptions } from './runs/file-run-store.ts';
import type { DatabaseRunStoreOptions } from './runs/database-run-store.ts';
import type { RunObjects } from './runs/rows/run-artifacts.ts';
import type { RunStore } from './runs/run-store.ts';

/** The runs that `storage` of core.json means. What talks to a database is loaded where one is named. */
export async function openRunStore(
  folders: Pick<Folders, 'config'>,
  options: RunStoreOptions & Pick<DatabaseRunStoreOptions, 'warn'>,
): Promise<RunStore> {
  const settings = readPostgresSettings({ ...folders, state: options.stateDir });
  if (settings === null) return new FileRunStore(options);
  const [{ openPostgres }, { DatabaseRunStore }] = await Promise.all([
    import('#kit/database/postgres.ts'),
    import('./runs/database-run-store.ts'),
  ]);
  return new DatabaseRunStore({
    ...options,
    database: openPostgres(settings, 'core-agentd', {
      pool: 'runs',
      ...(options.warn === undefined ? {} : { warn: options.warn }),
    }),
    objects: await openObjects(folders),
  });
}

/** Where large artifacts are, as core.json says; null where all are in the database. */
export async function openObjects(folders: Pick<Folders, 'config'>): Promise<RunObjects | null> {
  const settings = readS3Settings(folders);
  if (settings === null) return null;
  const { openS3 } = await import('#kit/objects/s3.ts');
  return { store: openS3(settings, environment), minBytes: settings.min_bytes };
}
