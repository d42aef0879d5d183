import { setTimeout } from 'node:timers/promises';
import type { Sql } from '#kit/database/database.ts';
import type { FencedLease, FencedLeases } from '#kit/database/fenced-leases.ts';
import { Conflict, type CoreError, codeOf, messageOf, Unavailable } from '#kit/errors.ts';

/** Of the right to write the record; one in a database. */
export const leaseName = 'context/record';

/** Seconds after which it is worth asking again, and between looks of a standby. */
const retrySeconds = 1;

/** The right to write the record, and to answer for it. */
export interface ActiveLease {
  /** To be called before an answer. @throws Unavailable (`context_standby`) where another host may be active by now */
  require(): void;
  /** Resolves when the lease is lost for good. */
  readonly lost: Promise<Error>;
  release(): Promise<void>;
}

/**
 * Waits until this process may be the active one.
 * @param standing called with why it is not, each time that it asks
 * @returns null where `signal` ends the waiting
 */
export async function waitForLease(
  leases: FencedLeases,
  standing: (reason: CoreError) => Promise<void>,
  signal: AbortSignal,
): Promise<ActiveLease | null> {
  for (;;) {
    if (signal.aborted) return null;
    try {
      return await activeLease(await leases.acquire(leaseName));
    } catch (error) {
      await standing(whyStandby(error));
    }
    await setTimeout(retrySeconds * 1000, undefined, { signal }).catch(() => {});
  }
}

/** @throws Conflict (`lease_lost`), also where this process gave it back */
export function requireLease(leases: FencedLeases): void {
  if (leases.held(leaseName) === null)
    throw new Conflict('lease_lost', 'this core-context gave up its lease');
}

/** Holds the lease until the transaction ends. @throws Conflict (`lease_lost`), also where this process gave it back */
export async function fenceRecord(leases: FencedLeases, sql: Sql): Promise<void> {
  requireLease(leases);
  await leases.fence(sql, leaseName);
}

async function activeLease(lease: FencedLease): Promise<ActiveLease> {
  const permit = await lease.permit();
  const { promise: lost, resolve } = Promise.withResolvers<Error>();
  lease.lost.addEventListener('abort', () => resolve(standby(messageOf(lease.lost.reason))), { once: true });
  return {
    require() {
      try {
        permit.require();
      } catch (error) {
        throw standby(messageOf(error));
      }
    },
    lost,
    release: () => lease.release(),
  };
}

/** What a standby answers. @throws what waiting cannot help */
function whyStandby(error: unknown): CoreError {
  if (error instanceof Unavailable)
    return standby(`it is not known which core-context is active: ${error.message}`);
  if (codeOf(error) !== 'lease_held' && codeOf(error) !== 'lease_lost') throw error;
  const { host, pid, acquired_at } = (error as CoreError).facts;
  if (host === undefined) return standby('another core-context became active');
  return standby(
    `core-context is active on ${host} (process ${pid}) since ${acquired_at}; this one is its standby`,
  );
}

export function standby(message: string): Unavailable {
  return new Unavailable('context_standby', message, {
    retryAfter: retrySeconds,
    hint: 'Send it to the active one: a proxy finds it by /healthz, where a standby answers 503.',
  });
}
