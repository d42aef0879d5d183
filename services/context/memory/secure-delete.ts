import type { GraphRecord } from '../record/graph-record.ts';

const secured = new WeakSet<GraphRecord>();

/**
 * From now on the writer's connection overwrites what it deletes with zeros. Every command that writes memories begins with it, since
 * moved rows and merged index segments leave copies behind as well.
 */
export function secureDelete(record: GraphRecord): void {
  if (secured.has(record)) return;
  record.db.exec('PRAGMA secure_delete = ON');
  secured.add(record);
}
