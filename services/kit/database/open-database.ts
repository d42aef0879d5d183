import { join } from 'node:path';
import { readPostgresSettings } from '../config/storage.ts';
import type { Folders } from '../folders.ts';
import type { Database } from './database.ts';
import type { Schema } from './schema.ts';

export interface OpenDatabaseOptions {
  /** Shown by the server, for example `core-agentd`. */
  readonly application: string;
  /** Purpose of the connections, for metrics. */
  readonly pool: string;
  /** Maximum number of connections; default `storage.connections`. */
  readonly connections?: number;
  readonly warn?: (message: string) => void;
  /** Milliseconds since 1970, of a file; default the clock. */
  readonly now?: () => number;
}

/**
 * The tables of a service where `storage` of core.json puts them: in a file of the state folder, or in the database of all services and
 * hosts. Opens nothing yet: the first statement does. Only the engine in use is loaded.
 * @throws InvalidInput (`config_invalid`), Conflict (`storage_moved`)
 */
export async function openDatabase(
  folders: Pick<Folders, 'config' | 'state'>,
  schema: Schema,
  { application, pool, connections, warn, now }: OpenDatabaseOptions,
): Promise<Database> {
  const settings = readPostgresSettings(folders);
  if (settings === null) {
    const { openSqlite } = await import('./sqlite.ts');
    return openSqlite(databaseFile(folders, schema), schema, now === undefined ? {} : { now });
  }
  const { openPostgres } = await import('./postgres.ts');
  const own = connections === undefined ? settings : { ...settings, connections };
  return openPostgres(own, application, { schema, pool, ...(warn === undefined ? {} : { warn }) });
}

export function databaseFile({ state }: Pick<Folders, 'state'>, { file }: Schema): string {
  return join(state, file);
}
