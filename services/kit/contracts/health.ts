import * as t from 'io-ts';
import { oneOf } from '../decode.ts';

export const HealthStatus = oneOf(['ok', 'degraded', 'failing']);
export type HealthStatus = t.TypeOf<typeof HealthStatus>;

/** `GET /healthz` of every service. */
export const Health = t.strict({
  status: HealthStatus,
  service: t.string,
  version: t.string,
  checks: t.record(t.string, t.strict({ status: HealthStatus, detail: t.string })),
});
export type Health = t.TypeOf<typeof Health>;
