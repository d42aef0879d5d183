import type { FrameError, InvocationResult, InvokeFunction } from '#kit/contracts/bus/frames.ts';
import type { Connection } from '../wire/connection.ts';

export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: FrameError };

export interface PendingCall {
  /** Its id towards the callee. */
  readonly id: string;
  /** Its id towards the caller; `id` differs only where this was in use already. */
  readonly callerInvocation: string | null;
  readonly functionId: string;
  /** null where the engine calls, or nobody waits. */
  caller: Connection | null;
  /** Receives the result when the engine itself calls. */
  readonly settle: ((outcome: Outcome) => void) | null;
  /** null while no worker has it. */
  callee: Connection | null;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
}

type Trace = Pick<InvocationResult, 'traceparent' | 'baggage'>;

/** Sends the outcome to the caller, if it waits for one. @throws RangeError for an outcome that is no JSON */
export function finish(call: PendingCall, outcome: Outcome, trace: Trace = {}): void {
  prepareOutcome(call, outcome, trace)();
}

/** Serializes the outcome first, so that the call can still fail instead. @returns what sends it @throws RangeError as `finish` */
export function prepareOutcome(
  call: PendingCall,
  outcome: Outcome,
  { traceparent, baggage }: Trace,
): () => void {
  const { settle, caller, callerInvocation } = call;
  if (settle !== null) return () => settle(outcome);
  if (caller === null || callerInvocation === null) return () => {};
  const answer: InvocationResult = {
    type: 'invocationresult',
    invocation_id: callerInvocation,
    function_id: call.functionId,
    ...(outcome.ok ? { result: outcome.result } : { error: outcome.error }),
    ...(traceparent == null ? {} : { traceparent }),
    ...(baggage == null ? {} : { baggage }),
  };
  const text = JSON.stringify(answer);
  return () => caller.sendBuffer.push(text);
}

export function failure(code: string, message: string): Outcome {
  return { ok: false, error: { code, message } };
}

type CallContent = Pick<InvokeFunction, 'function_id' | 'data' | 'metadata' | 'traceparent' | 'baggage'>;

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

/** Puts the caller's id in `data`, where that is an object, in place of any that it claims. */
export function withCaller(frame: InvokeFunction, workerId: string): InvokeFunction {
  const { data } = frame;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return frame;
  const { _caller_worker_id: _claimed, ...members } = data as Record<string, unknown>;
  return { ...frame, data: { ...members, _caller_worker_id: workerId } };
}
