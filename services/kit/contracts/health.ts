import * as t from 'io-ts';
import { oneOf, optional } from '../decode.ts';

export const HealthStatus = oneOf(['ok', 'degraded', 'failing']);
export type HealthStatus = t.TypeOf<typeof HealthStatus>;

/** What waits to be handed on, and for how long the oldest of it has. */
export const Backlog = t.strict({ waiting: t.number, oldest_seconds: t.number });
export type Backlog = t.TypeOf<typeof Backlog>;

export interface HealthCheck {
  readonly status: HealthStatus;
  readonly detail: string;
  readonly backlog?: Backlog | undefined;
}
export const HealthCheck = t.strict({
  status: HealthStatus,
  detail: t.string,
  backlog: optional(Backlog),
}) as t.Type<HealthCheck, unknown, unknown>;

/** `GET /healthz` of every service. */
export const Health = t.strict({
  /** `standby`: another host's does the work, and this one takes over when that ends. */
  status: oneOf(['ok', 'degraded', 'failing', 'standby']),
  service: t.string,
  version: t.string,
  checks: t.record(t.string, HealthCheck),
});
export type Health = t.TypeOf<typeof Health>;

/** Checks that say who does the work of several hosts, and since when nothing of it is saved. */
const ofHosts = ['active', 'backup'];

/** Names and details of checks that are not well, and of those that are shown anyway. @param always names of more of these */
export function remarkable({ checks }: Health, always: readonly string[] = []): [string, string][] {
  return Object.entries(checks)
    .filter(([name, { status }]) => status !== 'ok' || ofHosts.includes(name) || always.includes(name))
    .map(([name, { detail }]) => [name, detail]);
}

/** As well as the worst of its checks. */
export function healthOf(
  service: string,
  version: string,
  checks: Readonly<Record<string, HealthCheck>>,
): Health {
  const statuses = Object.values(checks).map(({ status }) => status);
  const status = statuses.includes('failing') ? 'failing' : statuses.includes('degraded') ? 'degraded' : 'ok';
  return { status, service, version, checks: { ...checks } };
}

/** In words, for example `3 wait, the oldest for 12 min`. */
export function backlogInWords({ waiting, oldest_seconds: seconds }: Backlog): string {
  if (waiting === 0) return 'none waits';
  const age = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `${waiting} ${waiting === 1 ? 'waits' : 'wait'}, the oldest for ${age}`;
}
