import { CoreError, type ErrorOptions, exitCodes } from '../errors.ts';
import type { JsonSchema } from '../json-schema.ts';

/** What a handler knows of a call beside its data. */
export interface BusCall {
  /** Worker id of who calls, as the bus says; null where it does not, as for triggers. */
  readonly caller: string | null;
  /** Aborted when the bus is closed: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** W3C trace context of the caller; null without one. */
  readonly traceparent: string | null;
}

/** A function that others on the bus can call. What it throws reaches them as `invocation_failed`: return domain errors as values. */
export interface BusFunction {
  readonly id: string;
  readonly description: string;
  readonly request: JsonSchema;
  readonly response: JsonSchema;
  handle(data: unknown, call: BusCall): Promise<unknown>;
}

/** Calls `function_id` when what `type` names happens, for example `cron` with `{expression}`. */
export interface BusTrigger {
  readonly type: string;
  readonly function_id: string;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface BusCallOptions {
  /** Milliseconds, waiting for a connection included; default 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly traceparent?: string;
}

/**
 * The capability bus: functions by name. Connects by itself, and again after each loss, with what was registered; calls made
 * meanwhile wait for the connection until their time is over.
 */
export interface Bus {
  /** @throws TypeError where an id is empty or registered already */
  register(functions: readonly BusFunction[], triggers?: readonly BusTrigger[]): void;
  /** @throws BusError, Interrupted (`interrupted`) when `signal` ends it */
  call(function_id: string, data: unknown, options?: BusCallOptions): Promise<unknown>;
  readonly connected: boolean;
  /** @throws BusError (`not_connected`) with why, where there is no connection within that time */
  whenConnected(timeoutMs: number): Promise<void>;
  /** Answers of handlers that still work are not sent any more. */
  close(): Promise<void>;
}

/** Codes after which the same call can succeed a little later; who provides the function may just be restarting. */
const passing: ReadonlySet<string> = new Set([
  'function_not_found',
  'invocation_stopped',
  'invocation_error',
  'channel_send_failed',
  'connection_lost',
  'not_connected',
  'bus_busy',
  'TIMEOUT',
]);

/**
 * A call that came to no result. Codes are those of the protocol (`function_not_found`, `invocation_stopped`, `TIMEOUT`, a worker's
 * own), and of the client: `not_connected`, `connection_lost`, `bus_busy`, `bus_closed`, `call_too_large`.
 */
export class BusError extends CoreError {
  override readonly status = 503;
  override readonly exitCode = exitCodes.unavailable;
  override readonly retryable: boolean;

  constructor(code: string, message: string, options: ErrorOptions & { readonly retryable?: boolean } = {}) {
    super(code, message, options);
    this.retryable = options.retryable ?? passing.has(code);
  }
}
