import * as t from 'io-ts';

/**
 * Who holds a lease. Process ids repeat, between containers and over time; together with the boot, the pid namespace and the
 * time when the process started they do not.
 */
export const LeaseHolder = t.strict({
  boot_id: t.string,
  pid_namespace: t.string,
  pid: t.number,
  /** Clock ticks since boot; empty if the system does not report it. */
  process_started: t.string,
  host: t.string,
});
export type LeaseHolder = Readonly<t.TypeOf<typeof LeaseHolder>>;
