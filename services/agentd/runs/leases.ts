import { setTimeout } from 'node:timers/promises';
import { codeOf } from '#kit/errors.ts';
import type { Lease, RunStore } from './run-store.ts';

/** Names of the leases that more than one part of the service has to agree on. */

/** Whoever plans, executes or undoes a run holds this; while nobody living does, such a run is `interrupted`. */
export function executorLease(runId: string): string {
  return `run ${runId}`;
}

/** One writer for each branch of a repository. */
export function branchLease(target: {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
}): string {
  return `branch ${target.forge}/${target.owner}/${target.repo}/${target.branch}`;
}

/** Held while the plan of an issue is sealed or decided about, so that of two plans one sees the other, and what is decided. */
export function issueLease(issue: {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  readonly number: number;
}): string {
  return `issue ${issue.forge}/${issue.owner}/${issue.repo}#${issue.number}`;
}

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
