import { leaseTables } from '#kit/database/fenced-leases.ts';
import type { Schema } from '#kit/database/schema.ts';
import { notificationTables } from './notifications/notification-rows.ts';
import { signInTables } from './review/sign-in-store.ts';
import { runTables } from './runs/run-tables.ts';

/** The tables of core-agentd. */
export const agentdSchema: Schema = {
  file: 'agentd.sqlite',
  codePrefix: 'agentd',
  name: 'the database of core-agentd',
  migrations: [signInTables, notificationTables, leaseTables, runTables],
  whenDamaged: 'Restore a backup: ./core restore FILE.',
};
