import type { FrameError, InvocationResult } from '#kit/contracts/bus/frames.ts';
import type { Outbox } from '../wire/outbox.ts';

export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: FrameError };

/** What calls need to know of a connection. */
export interface Peer {
  /** Worker id. */
  readonly id: string;
  /** Name of the token that it came with; null where none is needed. */
  readonly token: string | null;
  /** Whether it may change anything: register, and call what others registered. */
  readonly mayCall: boolean;
  readonly outbox: Outbox;
  /** Calls that it made and that have no result yet. */
  waitingCalls: number;
  /** Calls that it has not answered yet. */
  runningCalls: number;
  /** It does not read what is sent to it. */
  overflow(): void;
}

/** A call without a result yet. */
export interface PendingCall {
  /** Its id towards who answers it. */
  readonly id: string;
  /** Its id as the caller knows it; another one only where that was in use already. */
  readonly callerInvocation: string | null;
  readonly functionId: string;
  /** null where the engine calls, or nobody waits. */
  caller: Peer | null;
  /** Takes the result where the engine calls. */
  readonly settle: ((outcome: Outcome) => void) | null;
  /** null while no worker has it. */
  callee: Peer | null;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
}

type Trace = Pick<InvocationResult, 'traceparent' | 'baggage'>;

/** Who waits is told; a call that nobody waits for just ends. @throws RangeError for an outcome that cannot be written */
export function finish(call: PendingCall, outcome: Outcome, trace: Trace = {}): void {
  tellerOf(call, outcome, trace)();
}

/** What tells who waits: the call can still be ended in another way when it cannot be made. @throws RangeError as `finish` */
export function tellerOf(call: PendingCall, outcome: Outcome, { traceparent, baggage }: Trace): () => void {
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
