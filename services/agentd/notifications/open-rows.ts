import type { PostgresSettings, StorageKind } from '#kit/config/storage.ts';
import type { NotificationRows } from './notification-rows.ts';
import { SqliteNotificationRows } from './sqlite-notification-rows.ts';

export interface RowsOptions {
  /** The state folder. */
  readonly state: string;
  /** null where files are used. */
  readonly postgres: PostgresSettings | null;
  readonly now: () => number;
}

/** Beside those of the runs: notifications never wait for them. */
const connections = 2;

/** By where Core keeps its things. PostgreSQL's client is loaded where it is used. */
const kinds: Readonly<Record<StorageKind, (options: RowsOptions) => Promise<NotificationRows>>> = {
  files: async ({ state, now }) => new SqliteNotificationRows(state, now),
  postgres: async ({ postgres }) => {
    const [{ openPostgres }, { PostgresNotificationRows }] = await Promise.all([
      import('#kit/postgres/database.ts'),
      import('./postgres-notification-rows.ts'),
    ]);
    return new PostgresNotificationRows(openPostgres({ ...postgres!, connections }, 'core-agentd'));
  },
};

/** Opens nothing yet: the first use does. */
export function openNotificationRows(options: RowsOptions): Promise<NotificationRows> {
  return kinds[options.postgres === null ? 'files' : 'postgres'](options);
}
