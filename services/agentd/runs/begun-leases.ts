import { executorLease, type Lease } from './run-store.ts';

/** Leases of executors of runs that were begun, until `RunStore.lease` hands them over or the run is abandoned. */
export class BegunLeases {
  readonly #leases = new Map<string, Lease>();

  put(lease: Lease): void {
    this.#leases.set(lease.name, lease);
  }

  /** @returns null where there is none, or it was lost since */
  take(name: string): Lease | null {
    const lease = this.#leases.get(name);
    this.#leases.delete(name);
    return lease === undefined || lease.lost.aborted ? null : lease;
  }

  async abandon(runId: string): Promise<void> {
    const name = executorLease(runId);
    const lease = this.#leases.get(name);
    this.#leases.delete(name);
    // Also one that was lost: its holder is refused until then.
    await lease?.release();
  }
}
