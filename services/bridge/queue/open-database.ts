import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { holdFolder } from '#kit/storage/lock.ts';
import { storageError } from './storage-error.ts';
import { migrate } from './tables.ts';

/** What the bridge keeps, held by this process alone. */
export interface BridgeDatabase {
  readonly db: DatabaseSync;
  readonly path: string;
  close(): void;
}

/**
 * Opens `<state>/bridge/queue.sqlite`, and makes it where it is missing. A commit is on the disk when it returns. Events whose
 * processor ended with the process before are pending again.
 * @throws Conflict (`queue_held`), Failed (`queue_damaged`, `queue_newer`), Unavailable (`disk_full`)
 */
export function openBridgeDatabase(state: string): BridgeDatabase {
  const folder = join(state, 'bridge');
  const hold = holdFolder(folder, { code: 'queue_held', name: 'the event queue' });
  const path = join(folder, 'queue.sqlite');
  let db: DatabaseSync | null = null;
  try {
    const opened = new DatabaseSync(path, { timeout: 5_000 });
    db = opened;
    opened.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    migrate(opened);
    opened.exec(`
      UPDATE events SET state = 'pending', due_at = changed_at, claim = NULL, claimed_until = NULL
      WHERE state = 'processing'`);
    return {
      db: opened,
      path,
      close() {
        opened.close();
        hold.release();
      },
    };
  } catch (error) {
    db?.close();
    hold.abandon();
    throw storageError(error, path);
  }
}
