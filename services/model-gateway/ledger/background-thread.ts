import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { BackgroundAnswer, BackgroundMessage, BackgroundTask } from './background.ts';
import { readUsage, type UsageRow } from './usage-rows.ts';

const { path } = workerData as { readonly path: string };
const port = parentPort!;
const db = new DatabaseSync(path, { timeout: 5_000 });
db.exec('PRAGMA synchronous = NORMAL');
const forget = db.prepare(
  'DELETE FROM calls WHERE call IN (SELECT call FROM calls WHERE call < ? AND state <> 0 LIMIT 500)',
);

/** While calls go on, the log never comes to its end by itself; beyond this, in bytes, they wait a moment for that. */
const largestLog = 64 * 1024 * 1024;

port.on('message', (message: BackgroundMessage) => {
  port.postMessage(answer(message));
});

function answer(message: BackgroundMessage): BackgroundAnswer {
  try {
    return { id: message.id, rows: done(message) };
  } catch (error) {
    return { id: message.id, error: (error as Error).message };
  }
}

function done(message: BackgroundTask): readonly UsageRow[] {
  if (message.task === 'usage') return readUsage(db, message.question);
  while (forget.run(message.before).changes > 0);
  db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  if (logSize() > largestLog) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  return [];
}

function logSize(): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
