import { randomUUID } from 'node:crypto';
import type { FrameError, InvocationResult, InvokeFunction } from '../contracts/bus/frames.ts';
import { CoreError, Interrupted } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type BusCallOptions, BusError } from './bus.ts';
import { type BusConnection, busLimits } from './bus-connection.ts';
import type { Registrations } from './registrations.ts';

interface PendingCall {
  readonly function_id: string;
  /** null once it was sent. */
  text: string | null;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const defaultTimeoutMs = 30_000;
/** Longer ones overflow Node's timers. */
const maxTimeoutMs = 2 ** 31 - 1;

/** Calls that wait for a connection or for their answer. Each ends: with an answer, its time, its signal, or the connection. */
export class PendingCalls {
  readonly #calls = new Map<string, PendingCall>();
  readonly #connection: Pick<BusConnection, 'open' | 'hasRoom' | 'send' | 'problem'>;

  constructor(connection: Pick<BusConnection, 'open' | 'hasRoom' | 'send' | 'problem'>) {
    this.#connection = connection;
  }

  async call(function_id: string, data: unknown, options: BusCallOptions): Promise<unknown> {
    const { timeoutMs = defaultTimeoutMs, signal, traceparent } = options;
    if (signal?.aborted) throw stopped(function_id, signal);
    this.#checkRoom(function_id);
    const invocation_id = randomUUID();
    const text = callText({ invocation_id, function_id, data: data === undefined ? {} : data, traceparent });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call: PendingCall = { function_id, text, resolve, reject };
    const abort = () => reject(stopped(function_id, signal!));
    const timer = setTimeout(() => reject(this.#timeout(call, timeoutMs)), Math.min(timeoutMs, maxTimeoutMs));
    signal?.addEventListener('abort', abort, { once: true });
    this.#calls.set(invocation_id, call);
    if (this.#connection.send(text)) call.text = null;
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      this.#calls.delete(invocation_id);
    }
  }

  /** Sends what waits for a connection. */
  flush(): void {
    for (const call of this.#calls.values())
      if (call.text !== null && this.#connection.send(call.text)) call.text = null;
  }

  settle({ invocation_id, result, error }: InvocationResult): void {
    const call = this.#calls.get(invocation_id);
    if (error == null) call?.resolve(result ?? null);
    else call?.reject(new BusError(error.code, `${call.function_id}: ${error.message}`));
  }

  /** Nobody answers what was sent, and it may or may not have been done. */
  loseSent(reason: string): void {
    for (const { text, function_id, reject } of this.#calls.values())
      if (text === null)
        reject(new BusError('connection_lost', `the connection was lost during ${function_id}: ${reason}`));
  }

  endAll(): void {
    for (const { function_id, reject } of this.#calls.values())
      reject(new BusError('bus_closed', `${function_id} was not answered: the bus was closed here`));
  }

  /** Without a connection, all calls are waiting ones. @throws BusError (`bus_busy`) */
  #checkRoom(function_id: string): void {
    const { open, hasRoom } = this.#connection;
    if (!hasRoom) throw new BusError('bus_busy', `${function_id} was not called: the bus is slow`);
    const { size } = this.#calls;
    if (size < (open ? busLimits.calls : busLimits.waitingCalls)) return;
    throw new BusError('bus_busy', `${function_id} was not called: ${size} calls wait already`);
  }

  #timeout({ text, function_id }: PendingCall, timeoutMs: number): BusError {
    if (text === null) return new BusError('TIMEOUT', `${function_id} did not answer within ${timeoutMs} ms`);
    const { problem } = this.#connection;
    const message = `${function_id} could not be called within ${timeoutMs} ms: ${problem}`;
    return new BusError('not_connected', message);
  }
}

/** @throws BusError (`call_too_large`) */
function callText(call: { readonly function_id: string; readonly [member: string]: unknown }): string {
  const text = JSON.stringify({ type: 'invokefunction', ...call });
  if (Buffer.byteLength(text) <= busLimits.frameBytes) return text;
  const message = `the call of ${call.function_id} has more than ${busLimits.frameBytes} bytes`;
  throw new BusError('call_too_large', message);
}

function stopped(function_id: string, signal: AbortSignal): Interrupted {
  return new Interrupted('interrupted', `the call of ${function_id} was stopped`, { cause: signal.reason });
}

type Reply = { readonly result: unknown } | { readonly error: FrameError };

/** Calls of others at work here. An answer that is ready while there is no connection waits for the next one. */
export class Answers {
  readonly #registrations: Pick<Registrations, 'find'>;
  readonly #connection: Pick<BusConnection, 'send'>;
  readonly #logger: Logger;
  readonly #ending = new AbortController();
  /** By invocation. */
  readonly #waiting = new Map<string, string>();
  #working = 0;

  constructor(
    registrations: Pick<Registrations, 'find'>,
    connection: Pick<BusConnection, 'send'>,
    logger: Logger,
  ) {
    this.#registrations = registrations;
    this.#connection = connection;
    this.#logger = logger;
  }

  async answer(frame: InvokeFunction): Promise<void> {
    const { invocation_id, function_id } = frame;
    const reply = await this.#work(frame);
    if (invocation_id == null || this.#ending.signal.aborted) return;
    const head = { type: 'invocationresult', invocation_id, function_id, traceparent: frame.traceparent };
    this.#send(invocation_id, frameText(head, reply));
  }

  /** Sends what became ready while there was no connection. */
  flush(): void {
    for (const [id, text] of this.#waiting) {
      if (!this.#connection.send(text)) return;
      this.#waiting.delete(id);
    }
  }

  end(): void {
    this.#ending.abort(new Error('the bus was closed here'));
    this.#waiting.clear();
  }

  async #work({ function_id, data, traceparent }: InvokeFunction): Promise<Reply> {
    const found = this.#registrations.find(function_id);
    if (found === undefined)
      return failure('function_not_found', `this worker has no function ${function_id}`);
    if (this.#working >= busLimits.handlers)
      return failure('worker_busy', `${busLimits.handlers} calls are at work here, the limit`);
    this.#working++;
    try {
      const { caller, given } = withoutCaller(data);
      const result = await found.handle(given, {
        caller,
        signal: this.#ending.signal,
        traceparent: traceparent ?? null,
      });
      return { result: result ?? null };
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#logger.error(`${found.id} failed`, { error });
      if (error instanceof CoreError) return failure(error.code, error.message);
      return failure('invocation_failed', `${found.id} failed; its log says why`);
    } finally {
      this.#working--;
    }
  }

  #send(id: string, text: string): void {
    if (this.#connection.send(text)) return;
    if (this.#waiting.size >= busLimits.waitingResults) {
      const oldest = this.#waiting.keys().next().value!;
      this.#waiting.delete(oldest);
      this.#logger.warn('an answer is dropped: too many wait for the bus', { invocation_id: oldest });
    }
    this.#waiting.set(id, text);
  }
}

/** The bus adds who calls to data that is an object. */
function withoutCaller(data: unknown): { readonly caller: string | null; readonly given: unknown } {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return { caller: null, given: data };
  const { _caller_worker_id: caller, ...given } = data as Readonly<Record<string, unknown>>;
  return { caller: typeof caller === 'string' ? caller : null, given };
}

function failure(code: string, message: string): Reply {
  return { error: { code, message } };
}

function frameText(head: object, reply: Reply): string {
  try {
    const text = JSON.stringify({ ...head, ...reply });
    if (Buffer.byteLength(text) <= busLimits.frameBytes) return text;
  } catch {
    return JSON.stringify({ ...head, ...failure('serialization_error', 'the result is not JSON') });
  }
  const limit = `the result has more than ${busLimits.frameBytes} bytes, the limit`;
  return JSON.stringify({ ...head, ...failure('result_too_large', limit) });
}
