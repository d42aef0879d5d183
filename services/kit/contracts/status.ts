import * as t from 'io-ts';
import { nullable, oneOf, Timestamp } from '../decode.ts';
import { Backlog, Health } from './health.ts';
import { RunSummary } from './run.ts';

/** A part is `required` where the platform cannot do its work without; `ok` is false where it is not well. */
const judged = {
  ok: t.boolean,
  required: t.boolean,
  /** One line for people. */
  detail: t.string,
  /** What to do; null where nothing is to be done. */
  fix: nullable(t.string),
};

export const UnitState = oneOf([
  'running',
  'starting',
  'waiting',
  'stopped',
  'failed',
  'missing',
  'left_out',
  'unknown',
]);
export type UnitState = t.TypeOf<typeof UnitState>;

/** One service as its service manager has it. */
export const UnitReport = t.strict({
  ...judged,
  state: UnitState,
  pid: nullable(t.number),
  restarts: nullable(t.number),
  since: nullable(t.string),
});
export type UnitReport = t.TypeOf<typeof UnitReport>;

/** What one endpoint answered. */
export const EndpointReport = t.strict({
  ...judged,
  url: t.string,
  /** HTTP status; null without an answer, and for what is no HTTP. */
  status: nullable(t.number),
  /** `GET /healthz`, where the service has one. */
  health: nullable(Health),
  /** Milliseconds. */
  took_ms: t.number,
});
export type EndpointReport = t.TypeOf<typeof EndpointReport>;

/** The engine of the bus. A fact is null where it could not be read; `unknown` then says why. */
export const EngineReport = t.strict({
  url: t.string,
  engine: nullable(t.string),
  telemetry_disabled: nullable(t.boolean),
  in_memory_warning_present: nullable(t.boolean),
  config_file_active: nullable(t.boolean),
  /** Functions of the platform that are registered, and those that are not. */
  functions: t.strict({ registered: t.array(t.string), missing: t.array(t.string) }),
  unknown: t.record(t.string, t.string),
});
export type EngineReport = t.TypeOf<typeof EngineReport>;

export const SmokeReport = t.strict({
  ok: t.boolean,
  run_id: nullable(t.string),
  event_id: nullable(t.string),
  /** What was done, in order. */
  steps: t.array(t.strict({ step: t.string, ok: t.boolean, detail: t.string, took_ms: t.number })),
  /** Repositories whose refs and trees were compared. */
  repositories: t.array(t.string),
  /** Refs and trees that are not as they were before. */
  changed: t.array(t.string),
});
export type SmokeReport = t.TypeOf<typeof SmokeReport>;

/** What `core-status` prints, and `GET /v1/status` answers. */
export const StatusReport = t.strict({
  ok: t.boolean,
  version: t.string,
  at: Timestamp,
  took_ms: t.number,
  /** Who runs the services, and whether this deployment counts as production-like. */
  manager: t.strict({ kind: t.string, production_like: t.boolean, detail: t.string }),
  services: t.record(t.string, UnitReport),
  http: t.record(t.string, EndpointReport),
  /** Services that run on this host while clients reach them at the address in `http`, of a proxy or another host. */
  here: t.record(t.string, EndpointReport),
  iii: EngineReport,
  /** The ways between services, each proved by the one that goes it with its real token. */
  arrows: t.array(t.strict({ from: t.string, to: t.string, ok: t.boolean, detail: t.string })),
  /** What waits in each outbox and queue, and for how long the oldest of it has. */
  backlogs: t.array(t.strict({ service: t.string, queue: t.string, ...Backlog.type.props })),
  storage: t.strict({ runs_count: nullable(t.number), detail: t.string }),
  latest_runs: t.array(RunSummary),
  /** Everything required that is not well; empty when `ok`. */
  problems: t.array(t.strict({ part: t.string, detail: t.string, fix: nullable(t.string) })),
  /** What works with a limit. */
  warnings: t.array(t.strict({ part: t.string, detail: t.string, fix: nullable(t.string) })),
  /** null unless it was asked for. */
  smoke: nullable(SmokeReport),
});
export type StatusReport = t.TypeOf<typeof StatusReport>;
