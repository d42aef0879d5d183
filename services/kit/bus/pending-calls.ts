import { randomUUID } from 'node:crypto';
import type { InvocationResult } from '../contracts/bus/frames.ts';
import { Interrupted } from '../errors.ts';
import { type BusCallOptions, BusError } from './bus.ts';
import { busLimits } from './timing.ts';

interface PendingCall {
  readonly function_id: string;
  /** null once it was sent. */
  text: string | null;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const usualMs = 30_000;
const longestMs = 2 ** 31 - 1;

/** Calls that wait for a connection or for their answer. Each ends: with an answer, its time, its signal, or the connection. */
export class PendingCalls {
  readonly #calls = new Map<string, PendingCall>();
  /** Not sent yet, oldest first. */
  readonly #waiting = new Set<string>();
  readonly #send: (text: string) => boolean;
  readonly #problem: () => string;

  /**
   * @param send false where there is no connection now
   * @param problem why there is none
   */
  constructor(send: (text: string) => boolean, problem: () => string) {
    this.#send = send;
    this.#problem = problem;
  }

  call(function_id: string, data: unknown, options: BusCallOptions): Promise<unknown> {
    const { timeoutMs = usualMs, signal, traceparent } = options;
    if (signal?.aborted) return Promise.reject(stopped(function_id, signal));
    if (this.#calls.size >= busLimits.calls || this.#waiting.size >= busLimits.waitingCalls) {
      return Promise.reject(
        new BusError('bus_busy', `${function_id} was not called: ${this.#calls.size} calls wait already`),
      );
    }
    const invocation_id = randomUUID();
    const text = JSON.stringify({
      type: 'invokefunction',
      invocation_id,
      function_id,
      data: data === undefined ? {} : data,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    if (text.length > busLimits.frameBytes || Buffer.byteLength(text) > busLimits.frameBytes) {
      return Promise.reject(
        new BusError(
          'call_too_large',
          `the call of ${function_id} has more than ${busLimits.frameBytes} bytes`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.#calls.delete(invocation_id);
        this.#waiting.delete(invocation_id);
      };
      const call: PendingCall = {
        function_id,
        text,
        resolve(result) {
          end();
          resolve(result);
        },
        reject(error) {
          end();
          reject(error);
        },
      };
      const abort = () => call.reject(stopped(function_id, signal!));
      const timer = setTimeout(
        () => call.reject(this.#tooLate(call, timeoutMs)),
        Math.min(timeoutMs, longestMs),
      );
      signal?.addEventListener('abort', abort, { once: true });
      this.#calls.set(invocation_id, call);
      if (this.#send(text)) call.text = null;
      else this.#waiting.add(invocation_id);
    });
  }

  /** Sends what waits for a connection. */
  flush(): void {
    for (const id of this.#waiting) {
      const call = this.#calls.get(id)!;
      if (call.text !== null && !this.#send(call.text)) return;
      call.text = null;
      this.#waiting.delete(id);
    }
  }

  settle({ invocation_id, result, error }: InvocationResult): void {
    const call = this.#calls.get(invocation_id);
    if (error == null) call?.resolve(result ?? null);
    else call?.reject(new BusError(error.code, `${call.function_id}: ${error.message}`));
  }

  /** What was sent may or may not have been done: nobody answers it any more. */
  loseSent(reason: string): void {
    for (const call of this.#calls.values()) {
      if (call.text !== null) continue;
      call.reject(
        new BusError('connection_lost', `the connection was lost during ${call.function_id}: ${reason}`),
      );
    }
  }

  endAll(): void {
    for (const call of this.#calls.values())
      call.reject(
        new BusError('bus_closed', `${call.function_id} was not answered: the bus was closed here`),
      );
  }

  #tooLate({ text, function_id }: PendingCall, timeoutMs: number): BusError {
    if (text === null) return new BusError('TIMEOUT', `${function_id} did not answer within ${timeoutMs} ms`);
    return new BusError(
      'not_connected',
      `${function_id} could not be called within ${timeoutMs} ms: ${this.#problem()}`,
    );
  }
}

function stopped(function_id: string, signal: AbortSignal): Interrupted {
  return new Interrupted('interrupted', `the call of ${function_id} was stopped`, { cause: signal.reason });
}
