import type { BusCall } from '#kit/bus/bus.ts';
import type { CallOptions } from '#kit/http/client.ts';

/** Hands on what belongs to a call: its end and its trace. */
export function asking({ signal, traceparent }: BusCall): CallOptions {
  return { signal, ...(traceparent === null ? {} : { headers: { traceparent } }) };
}
