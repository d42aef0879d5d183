import { setTimeout as delay } from 'node:timers/promises';
import { CoreError, messageOf, Unavailable } from '#kit/errors.ts';
import { sqliteCode, sqliteCodes } from '#kit/storage/sqlite-error.ts';
import { isDiskFull } from '#kit/storage/storage-error.ts';

/**
 * What cannot be recorded is not spent: the caller may try again.
 * @param what cannot be done, where it is no call
 */
export function notRecorded(
  error: unknown,
  what = 'the call cannot be put on record, so it is not made',
): CoreError {
  if (error instanceof CoreError) return error;
  const { why, hint } = reasonOf(error);
  return new Unavailable('ledger_unavailable', `${what}: ${why}`, { cause: error, retryAfter: 5, hint });
}

/** Whether another process has the ledger locked, which passes. */
export function isLocked(error: unknown): boolean {
  const code = sqliteCode(error instanceof CoreError ? error.cause : error);
  return code === sqliteCodes.busy || code === sqliteCodes.locked;
}

function reasonOf(error: unknown): { readonly why: string; readonly hint: string } {
  if (isLocked(error)) {
    return {
      why: 'another process has the ledger locked',
      hint: 'End what has ledger.sqlite of the state folder open; the gateway goes on by itself.',
    };
  }
  const isFull = isDiskFull(error);
  return {
    why: isFull ? 'its disk is full' : messageOf(error),
    hint: isFull
      ? 'Make room on the disk of the state folder; the gateway goes on by itself.'
      : 'See that the state folder can be written; the gateway goes on by itself.',
  };
}

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
