import type { PostgresSettings, StorageKind } from '#kit/config/storage.ts';
import type { BridgeStorage } from './storage/bridge-storage.ts';
import { openSqliteStorage } from './storage/sqlite/storage.ts';

export interface StorageOptions {
  /** The state folder. */
  readonly state: string;
  /** null where files are used. */
  readonly postgres: PostgresSettings | null;
}

/** By where Core keeps its things. PostgreSQL's client is loaded where it is used. */
const kinds: Readonly<Record<StorageKind, (options: StorageOptions) => Promise<BridgeStorage>>> = {
  files: async ({ state }) => openSqliteStorage(state),
  postgres: async ({ postgres }) => {
    const { openPostgresStorage } = await import('./storage/postgres/storage.ts');
    return openPostgresStorage(postgres!);
  },
};

/** @throws Conflict (`queue_held`), Failed (`queue_damaged`, `queue_newer`), Unavailable (`disk_full`); a database is connected to later */
export function openBridgeStorage(options: StorageOptions): Promise<BridgeStorage> {
  return kinds[options.postgres === null ? 'files' : 'postgres'](options);
}
