import { setTimeout } from 'node:timers/promises';
import { codeOf } from '#kit/errors.ts';
import type { Lease, RunStore } from './run-store.ts';

const lookEveryMs = 50;

/** Takes a lease that others hold for a moment only, waiting for them. */
export async function patientLease(
  store: Pick<RunStore, 'lease'>,
  name: string,
  signal?: AbortSignal,
): Promise<Lease> {
  for (;;) {
    try {
      return await store.lease(name);
    } catch (error) {
      if (codeOf(error) !== 'lease_held') throw error;
      await setTimeout(lookEveryMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}
