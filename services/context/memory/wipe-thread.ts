import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { path, seconds } = workerData as { readonly path: string; readonly seconds: number };
const pauseMs = 100;

/** Moves the whole log into the database and empties it; readers and writers at work make it wait. */
async function emptyLog(): Promise<boolean> {
  const db = new DatabaseSync(path, { timeout: 1_000 });
  try {
    for (const deadline = Date.now() + seconds * 1_000; ; await setTimeout(pauseMs)) {
      const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
      if (busy === 0) return true;
      if (Date.now() > deadline) return false;
    }
  } finally {
    db.close();
  }
}

parentPort!.postMessage(await emptyLog());
