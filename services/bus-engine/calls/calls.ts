import { randomUUID } from 'node:crypto';
import { guarded } from '#kit/callbacks.ts';
import type { InvocationResult, InvokeFunction } from '#kit/contracts/bus/frames.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { BusLimits } from '../configuration.ts';
import type { Functions } from '../registry/functions.ts';
import { elsewhere, functionNotHere } from '../registry/not-here.ts';
import type { Connection } from '../wire/connection.ts';
import {
  callFrame,
  failure,
  finish,
  type Outcome,
  type PendingCall,
  prepareOutcome,
  withCaller,
} from './pending-call.ts';

/** Answers calls of the engine's own functions; null for other ids. */
export type AnswerBuiltIn = (functionId: string, data: unknown, peer: Connection) => Promise<Outcome> | null;

export interface CallsOptions {
  readonly functions: Functions;
  readonly limits: BusLimits;
  readonly builtIn: AnswerBuiltIn;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

interface Undelivered {
  readonly call: PendingCall;
  readonly payload: string;
  readonly since: number;
}

/** A worker answers many callers: its limit of open calls is this many times a caller's. */
const workerShare = 10;

/** Calls on their way from who makes them to who answers them, and results on their way back. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #functions: Functions;
  readonly #pending = new Map<string, PendingCall>();
  /** By function: calls whose worker went before they were sent wait for another worker with it. The oldest is the first. */
  readonly #undelivered = new Map<string, Undelivered[]>();
  /** Updated by `sweep`: a call's age only matters in seconds. */
  #now: number;
  #answered = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#functions = options.functions;
    this.#now = options.now();
  }

  get pending(): number {
    return this.#pending.size;
  }

  get answered(): number {
    return this.#answered;
  }

  /** A call by a worker. */
  invoke(peer: Connection, frame: InvokeFunction): void {
    const waits = frame.action?.type !== 'void' && frame.invocation_id != null;
    const call: PendingCall = {
      id: this.#freeId(frame.invocation_id),
      callerInvocation: waits ? frame.invocation_id! : null,
      functionId: frame.function_id,
      caller: waits ? peer : null,
      settle: null,
      callee: null,
      startedAt: this.#now,
    };
    const builtIn = this.#options.builtIn(frame.function_id, frame.data, peer);
    if (builtIn !== null) return void builtIn.then((outcome) => this.#finish(call, outcome, frame));
    const refused = this.#refusedCall(peer, frame);
    if (refused !== null) return void finish(call, refused, frame);
    const registration = this.#functions.get(frame.function_id)!;
    if (waits) peer.waitingCalls++;
    this.#deliver(callFrame(call.id, withCaller(frame, peer.id)), registration.peer, call);
  }

  /** A built-in's answer that is no JSON must not end the engine. */
  #finish(call: PendingCall, outcome: Outcome, frame: InvokeFunction): void {
    try {
      finish(call, outcome, frame);
    } catch (error) {
      this.#options.logger.error(`an answer of ${call.functionId} cannot be written`, { error });
      finish(call, failure('invocation_error', `the answer cannot be written: ${messageOf(error)}`));
    }
  }

  #refusedCall(peer: Connection, frame: InvokeFunction): Outcome | null {
    const { function_id, action } = frame;
    if (!peer.mayCall)
      return failure(
        'FORBIDDEN',
        `token ${peer.token} has no scope plan: it can call engine:: functions only`,
      );
    if (action?.type === 'enqueue')
      return failure(
        'enqueue_error',
        `queue ${action.queue}: this engine has no queues, ${elsewhere}; call without action`,
      );
    const registration = this.#functions.get(function_id);
    if (registration === undefined) return notFound(function_id);
    return this.#refusal(peer, registration.peer);
  }

  /** A result from a worker. */
  result(peer: Connection, frame: InvocationResult): void {
    const call = this.#pending.get(frame.invocation_id);
    if (call === undefined || call.callee !== peer) {
      this.#options.logger.debug('a result that nobody waits for', { worker: peer.id });
      return;
    }
    const { result, error } = frame;
    const deliver = prepareOutcome(call, error == null ? { ok: true, result } : { ok: false, error }, frame);
    this.#end(call);
    this.#answered++;
    if (call.caller === null || this.#takesMore(call.caller)) deliver();
  }

  /** A call by the engine itself. */
  call(functionId: string, data: unknown, timeoutMs: number, metadata?: unknown): Promise<Outcome> {
    const registration = this.#functions.get(functionId);
    if (registration === undefined) return Promise.resolve(notFound(functionId));
    const refused = this.#calleeRefusal(registration.peer);
    if (refused !== null) return Promise.resolve(refused);
    const id = randomUUID();
    const payload = callFrame(id, {
      function_id: functionId,
      data,
      ...(metadata == null ? {} : { metadata }),
    });
    return new Promise((resolve) => {
      const call: PendingCall = {
        id,
        callerInvocation: null,
        functionId,
        caller: null,
        settle: (outcome) => {
          clearTimeout(timer);
          resolve(outcome);
        },
        callee: null,
        startedAt: this.#now,
      };
      const timer = setTimeout(
        guarded('the bus engine', () => {
          this.#end(call);
          resolve(failure('TIMEOUT', `${functionId} did not answer within ${timeoutMs} ms`));
        }),
        timeoutMs,
      );
      this.#deliver(payload, registration.peer, call);
    });
  }

  /** Another worker now answers to this id: it gets the calls that wait for one. */
  available(functionId: string): void {
    const registration = this.#functions.get(functionId);
    if (registration === undefined) return;
    const undelivered = this.#undelivered.get(functionId) ?? [];
    this.#undelivered.delete(functionId);
    for (const { call, payload } of undelivered)
      if (this.#pending.has(call.id)) this.#deliver(payload, registration.peer, call);
  }

  /** The connection is closed, and its functions and what it was not sent are gone. */
  gone(peer: Connection): void {
    if (peer.runningCalls === 0 && peer.waitingCalls === 0) return;
    for (const call of this.#pending.values()) {
      if (call.caller === peer) this.#end(call);
      else if (call.callee === peer) this.#stop(call);
    }
  }

  /** Ends calls that are too old. */
  sweep(): void {
    this.#now = this.#options.now();
    const { call_seconds: most, redelivery_seconds } = this.#options.limits;
    for (const [functionId, kept] of this.#undelivered) {
      while (kept.length > 0 && this.#now - kept[0]!.since >= redelivery_seconds * 1_000) {
        const { call } = kept.shift()!;
        if (this.#pending.has(call.id)) this.#stop(call);
      }
      if (kept.length === 0) this.#undelivered.delete(functionId);
    }
    for (const call of this.#pending.values()) {
      if (this.#now - call.startedAt < most * 1_000) return;
      this.#end(call);
      finish(
        call,
        failure('TIMEOUT', `${call.functionId} did not answer within ${most} s, the engine's limit`),
      );
    }
  }

  #deliver(payload: string, callee: Connection, call: PendingCall): void {
    call.callee = callee;
    callee.runningCalls++;
    this.#pending.set(call.id, call);
    callee.sendBuffer.push(payload, () => this.#redeliver(payload, callee, call));
  }

  /** Its worker is gone before the call left for it: another one gets it, now or a little later. */
  #redeliver(payload: string, callee: Connection, call: PendingCall): void {
    if (!this.#pending.has(call.id)) return;
    call.callee = null;
    callee.runningCalls--;
    const registration = this.#functions.get(call.functionId);
    if (registration !== undefined) return void this.#deliver(payload, registration.peer, call);
    const kept = this.#undelivered.get(call.functionId) ?? [];
    this.#undelivered.set(call.functionId, kept);
    kept.push({ call, payload, since: this.#options.now() });
  }

  #stop(call: PendingCall): void {
    this.#end(call);
    finish(call, failure('invocation_stopped', 'Invocation stopped'));
  }

  #end(call: PendingCall): void {
    if (!this.#pending.delete(call.id)) return;
    if (call.callee !== null) call.callee.runningCalls--;
    if (call.caller !== null) call.caller.waitingCalls--;
  }

  #refusal(caller: Connection, callee: Connection): Outcome | null {
    const { pending_calls } = this.#options.limits;
    if (caller.waitingCalls >= pending_calls)
      return failure('bus_busy', `this connection has ${pending_calls} calls without a result, the limit`);
    return this.#calleeRefusal(callee);
  }

  #calleeRefusal(callee: Connection): Outcome | null {
    const { pending_calls, buffered_bytes } = this.#options.limits;
    if (callee.runningCalls >= pending_calls * workerShare)
      return failure(
        'bus_busy',
        `the worker has not answered ${pending_calls * workerShare} calls, the limit`,
      );
    if (!this.#isFull(callee)) return null;
    return failure('bus_busy', `the worker has not read ${buffered_bytes} bytes that wait for it, the limit`);
  }

  #isFull({ sendBuffer }: Connection): boolean {
    return sendBuffer.waiting >= this.#options.limits.buffered_bytes;
  }

  /** A caller that does not read its results is disconnected. */
  #takesMore(caller: Connection): boolean {
    if (!this.#isFull(caller)) return true;
    caller.overflow();
    return false;
  }

  #freeId(wanted: string | null | undefined): string {
    return wanted == null || this.#pending.has(wanted) ? randomUUID() : wanted;
  }
}

function notFound(functionId: string): Outcome {
  const lacking = functionNotHere(functionId);
  if (lacking !== null) return failure('not_on_this_engine', lacking);
  return failure('function_not_found', `Function ${functionId} not found`);
}
