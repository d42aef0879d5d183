import type { FrameError, InvocationResult, InvokeFunction } from '#kit/contracts/bus/frames.ts';
import type { Connection } from '../wire/connection.ts';

export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: FrameError };

/** A call without a result yet. */
export interface PendingCall {
  /** Its id towards who answers it. */
  readonly id: string;
  /** Its id as the caller knows it; another one only where that was in use already. */
  readonly callerInvocation: string | null;
  readonly functionId: string;
  /** null where the engine calls, or nobody waits. */
  caller: Connection | null;
  /** Takes the result where the engine calls. */
  readonly settle: ((outcome: Outcome) => void) | null;
  /** null while no worker has it. */
  callee: Connection | null;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
}

type Trace = Pick<InvocationResult, 'traceparent' | 'baggage'>;

/** Who waits is told; a call that nobody waits for just ends. @throws RangeError for an outcome that cannot be written */
export function finish(call: PendingCall, outcome: Outcome, trace: Trace = {}): void {
  prepareOutcome(call, outcome, trace)();
}

/** What tells who waits: the call can still be ended in another way when it cannot be made. @throws RangeError as `finish` */
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
  return () => caller.outbox.push(text);
}

export function failure(code: string, message: string): Outcome {
  return { ok: false, error: { code, message } };
}

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
