import type { UnitState } from '#kit/contracts/status.ts';

/** One service as the program that runs it has it. */
export interface Unit {
  readonly state: UnitState;
  readonly pid: number | null;
  readonly restarts: number | null;
  /** RFC 3339, of the state; null where it is not told. */
  readonly since: string | null;
  /** One line for people. */
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly fix: string | null;
}

/** Who runs the services of the platform. */
export interface ServiceManager {
  readonly kind: 'embedded' | 'compose' | 'none';
  /** Who it is, in one line. */
  readonly detail: string;
  /**
   * Every service that it has or should have, by name; those of the platform have the names that they have there.
   * @throws Unavailable (`service_manager_unavailable`) where it cannot be asked
   */
  units(signal: AbortSignal): Promise<ReadonlyMap<string, Unit>>;
  /** What is not well with itself, where it can be told; null where nothing is. */
  problem?(): { readonly detail: string; readonly fix: string | null } | null;
  /** The last part of a service's log; null where this manager keeps none. */
  log(service: string, signal: AbortSignal): Promise<string | null>;
}
