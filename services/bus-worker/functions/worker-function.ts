import type * as t from 'io-ts';
import type { BusCall, BusFunction } from '#kit/bus/bus.ts';
import type { FunctionFailure } from '#kit/contracts/bus/function-failure.ts';
import { decode } from '#kit/decode.ts';
import { CoreError, Interrupted } from '#kit/errors.ts';
import type { CallOptions } from '#kit/http/client.ts';
import type { ReresolvingClient } from '#kit/http/reresolving-client.ts';
import { jsonSchema } from '#kit/json-schema.ts';

/** The services behind the functions. */
export interface Services {
  readonly agentd: ReresolvingClient;
  readonly context: ReresolvingClient;
  readonly bridge: ReresolvingClient;
  /** Milliseconds for a service to answer a health check. */
  readonly answerMs: number;
}

export interface WorkerFunction<Q, R> {
  readonly id: string;
  readonly description: string;
  readonly request: t.Type<Q, unknown, unknown>;
  readonly response: t.Type<R, unknown, unknown>;
  /** What it throws on purpose becomes a failure; unknown members of the request are dropped before. */
  work(request: Q, call: BusCall): Promise<R>;
}

/** A function of the bus whose errors are values: over the bus an exception would lose its code. */
export function workerFunction<Q, R>({
  id,
  description,
  request,
  response,
  work,
}: WorkerFunction<Q, R>): BusFunction {
  return {
    id,
    description,
    request: jsonSchema(request as t.Mixed),
    response: jsonSchema(response as t.Mixed),
    async handle(data, call) {
      try {
        return await work(decode(request, data ?? {}, `the request of ${id}`, 'invalid_request'), call);
      } catch (error) {
        if (!(error instanceof CoreError) || error instanceof Interrupted) throw error;
        return failureOf(error);
      }
    },
  };
}

export function failureOf({ code, message, status, retryable, errors, hint }: CoreError): FunctionFailure {
  const shownErrors = errors.length === 0 ? undefined : [...errors];
  return {
    ok: false,
    error: { code, message, status, retryable, errors: shownErrors, hint },
    run_id: undefined,
  };
}

/** Options of a request on behalf of a call: it ends with the call, and continues its trace. */
export function asking({ signal, traceparent }: BusCall): CallOptions {
  return { signal, ...(traceparent === null ? {} : { headers: { traceparent } }) };
}
