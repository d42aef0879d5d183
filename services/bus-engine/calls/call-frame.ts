import type { InvokeFunction } from '#kit/contracts/bus/frames.ts';

type CallContent = Pick<InvokeFunction, 'function_id' | 'data' | 'metadata' | 'traceparent' | 'baggage'>;

/** The frame that the callee gets. */
export function callFrame(
  id: string,
  { function_id, data, metadata, traceparent, baggage }: CallContent,
): string {
  const frame: InvokeFunction = {
    type: 'invokefunction',
    invocation_id: id,
    function_id,
    data,
    ...(traceparent == null ? {} : { traceparent }),
    ...(baggage == null ? {} : { baggage }),
    ...(metadata == null ? {} : { metadata }),
  };
  return JSON.stringify(frame);
}

/** With who calls in place of what the caller claims to be, where there is a place for it. */
export function withCaller(frame: InvokeFunction, workerId: string): InvokeFunction {
  const { data } = frame;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return frame;
  const { _caller_worker_id: _claimed, ...members } = data as Record<string, unknown>;
  return { ...frame, data: { ...members, _caller_worker_id: workerId } };
}
