import { join } from 'node:path';
import type { Schema } from '#kit/database/schema.ts';
import { type FolderHold, holdFolder } from '#kit/storage/lock.ts';
import { eventTables } from './queue/event-rows.ts';
import { scheduleTables } from './schedules/schedule-rows.ts';
import { catchUpTables } from './sync/catch-up-rows.ts';
import { deliveryTables } from './sync/delivery-rows.ts';

/** The tables of core-bridge. The file is in a folder of its own, which is a volume in containers. */
export const bridgeSchema: Schema = {
  file: 'bridge/queue.sqlite',
  codePrefix: 'queue',
  name: 'the event queue',
  migrations: [eventTables, deliveryTables, scheduleTables, catchUpTables],
  whenDamaged: 'Move it away to begin a new queue; dashboards have to send again what was pending.',
};

/**
 * Holds the file for this process, so that no bridge writes what a move or a restore would miss.
 * @throws Conflict (`queue_held`, `restore_unfinished`), Failed (`state_not_writable`)
 */
export function holdQueueFile(state: string): FolderHold {
  return holdFolder(join(state, 'bridge'), { code: 'queue_held', name: bridgeSchema.name });
}
