import { isRunning } from '#kit/storage/process-identity.ts';
import { executorLease } from '../run-store.ts';

/** Holder of a run's executor lease; all fields are null if the lease expired or no process took it. */
export interface Holder {
  readonly boot_id: string | null;
  readonly pid_namespace: string;
  readonly pid: number;
  readonly process_started: string;
  readonly host: string;
}

/** Columns and join that add the holder of each executor lease to a query of `runs`, by the database's clock. */
export const holderColumns =
  'leases.boot_id, leases.pid_namespace, leases.pid, leases.process_started, leases.host';
export const withHolder = `LEFT JOIN leases ON leases.name = '${executorLease('')}' || runs.run_id AND leases.expires_at > (SELECT core_clock_ms())`;

/** True if a process holds the lease and is not known to have ended. */
export function lives({ boot_id, ...others }: Holder): boolean {
  return boot_id !== null && isRunning({ boot_id, ...others }) !== false;
}
