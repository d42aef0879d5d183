import type { UnitState } from '#kit/contracts/status.ts';

/** One service as the program that runs it has it. */
export interface Unit {
  readonly state: UnitState;
  readonly pid: number | null;
  readonly restarts: number | null;
  /** RFC 3339, of the state; null where it is not known. */
  readonly since: string | null;
  /** One line for people. */
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly fix: string | null;
}

/** Who runs the services of the platform. */
export interface ServiceManager {
  readonly kind: 'embedded' | 'compose' | 'none';
  readonly detail: string;
  /**
   * Every service that it has or should have, by name; those of the platform have the names that they have there.
   * @throws Unavailable (`service_manager_unavailable`) where it cannot be asked
   */
  units(signal: AbortSignal): Promise<ReadonlyMap<string, Unit>>;
  /** What is wrong with the manager itself; null where nothing is. */
  problem?(): { readonly detail: string; readonly fix: string | null } | null;
  /** The variables that a service was started with; null where this manager does not report them. */
  environment(service: string, signal: AbortSignal): Promise<Readonly<Record<string, string>> | null>;
  /** Where the services of `units` are reached from here; absent where that is as configured. */
  deployment?(): Deployment;
}

/** Services that another program runs and publishes on this machine. */
export interface Deployment {
  /** `host:port` by the port that a service has where it runs. */
  readonly published: ReadonlyMap<number, string>;
  readonly folder: string | null;
}
