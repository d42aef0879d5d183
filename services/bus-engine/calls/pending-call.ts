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
  readonly outbox: Outbox<PendingCall>;
  /** Calls that it made and that have no result yet. */
  waitingCalls: number;
  /** Calls that it has not answered yet. */
  runningCalls: number;
  /** `"_caller_worker_id":"…"}}`, the end of a call of its own, behind the other members of `data`. */
  readonly callerEnd: Uint8Array;
  /** The same for data without members: without the comma before it. */
  readonly callerOnlyEnd: Uint8Array;
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

/** Who waits is told; a call that nobody waits for just ends. */
export function finish(call: PendingCall, outcome: Outcome, trace: Trace = {}): void {
  if (call.settle !== null) return void call.settle(outcome);
  if (call.caller === null || call.callerInvocation === null) return;
  const { traceparent, baggage } = trace;
  const answer: InvocationResult = {
    type: 'invocationresult',
    invocation_id: call.callerInvocation,
    function_id: call.functionId,
    ...(outcome.ok ? { result: outcome.result } : { error: outcome.error }),
    ...(traceparent == null ? {} : { traceparent }),
    ...(baggage == null ? {} : { baggage }),
  };
  call.caller.outbox.pushText(JSON.stringify(answer));
}

export function failure(code: string, message: string): Outcome {
  return { ok: false, error: { code, message } };
}
