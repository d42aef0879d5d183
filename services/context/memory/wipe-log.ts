import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * Empties the record's write-ahead log, in which older pages still have what was deleted. In a thread with a connection of its own,
 * since it waits for readers.
 * @returns false where somebody read for so long
 */
export async function wipeLog(path: string, seconds = 5): Promise<boolean> {
  const worker = new Worker(new URL('./wipe-thread.ts', import.meta.url), { workerData: { path, seconds } });
  try {
    const [empty] = (await once(worker, 'message')) as [boolean];
    return empty;
  } finally {
    await worker.terminate();
  }
}
