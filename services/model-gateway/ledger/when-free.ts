import { setTimeout as delay } from 'node:timers/promises';
import { isLocked } from './storage-error.ts';

/** So long, in milliseconds, a ledger that another process has locked is no trouble yet. */
export const patienceMs = 5_000;
const againMs = 20;

/** Tries again while another process has the ledger locked, without holding the event loop up. @throws what `write` throws */
export async function whenFree<T>(write: () => T): Promise<T> {
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      return write();
    } catch (error) {
      if (!isLocked(error) || performance.now() >= until) throw error;
    }
    await delay(againMs);
  }
}
