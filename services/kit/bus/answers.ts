import type { FrameError, InvokeFunction } from '../contracts/bus/frames.ts';
import { CoreError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { BusConnection } from './bus-connection.ts';
import type { Registrations } from './registrations.ts';
import { busLimits } from './timing.ts';

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
