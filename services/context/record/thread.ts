import { Worker } from 'node:worker_threads';
import { guarded } from '#kit/callbacks.ts';
import { codeOf, Failed } from '#kit/errors.ts';
import { copyOf, type ErrorCopy, errorFrom } from './error-copy.ts';

export interface CallMessage {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

export type AnswerMessage =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorCopy };

/** What lives long here is in SQLite; a heap that may grow does so before it is cleaned. */
const resourceLimits = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 512 };

const start = new URL('./thread-start.js', import.meta.url);

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** Calls to another thread that have no answer yet. */
export class PendingCalls {
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  get size(): number {
    return this.#waiting.size;
  }

  /** @param send posts the call under its number; what it throws rejects the call */
  start<Output>(send: (id: number) => void): Promise<Output> {
    const id = this.#next++;
    return new Promise<Output>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      try {
        send(id);
      } catch (error) {
        this.settle({ id, error: copyOf(error) });
      }
    });
  }

  /** @returns the error of an answer that is one */
  settle(answer: AnswerMessage): Error | null {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('value' in answer) {
      waiting?.resolve(answer.value as never);
      return null;
    }
    const error = errorFrom(answer.error);
    waiting?.reject(error);
    return error;
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/**
 * A thread that answers calls by name, in any number at once. It starts with its first call, and keeps the process alive only
 * while calls wait for an answer.
 */
export class Thread {
  readonly #script: URL;
  readonly #data: object;
  #worker: Worker | null = null;
  readonly #calls = new PendingCalls();
  #ended: Error | null = null;
  /** Resolves with the reason when the thread can answer nothing any more. */
  readonly ended: Promise<Error>;
  readonly #resolveEnded: (error: Error) => void;
  /** Resolves with the first answer that says that the record is damaged. */
  readonly damaged: Promise<Error>;
  readonly #resolveDamaged: (error: Error) => void;

  /**
   * @param script a module that answers each CallMessage with an AnswerMessage
   * @param data what it finds as `workerData`
   */
  constructor(script: URL, data: object) {
    ({ promise: this.ended, resolve: this.#resolveEnded } = Promise.withResolvers<Error>());
    ({ promise: this.damaged, resolve: this.#resolveDamaged } = Promise.withResolvers<Error>());
    this.#script = script;
    this.#data = data;
  }

  /** True after the first call. */
  get started(): boolean {
    return this.#worker !== null;
  }

  /** What it was called for and has not answered may be done. */
  get hasEnded(): boolean {
    return this.#ended !== null;
  }

  /** @throws what the thread's function threw, Core's errors with their class; Failed (`thread_ended`) */
  call<Output>(name: string, input: unknown): Promise<Output> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.ref();
    const answered = this.#calls.start<Output>((id) =>
      worker.postMessage({ id, name, input } satisfies CallMessage),
    );
    this.#unrefIdle();
    return answered;
  }

  /** How many calls have no answer yet. */
  get load(): number {
    return this.#calls.size;
  }

  async close(): Promise<void> {
    this.#end(new Failed('thread_ended', 'the thread was closed'));
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const workerData = { ...this.#data, script: this.#script.href };
    const worker = new Worker(start, { workerData, resourceLimits });
    worker.on(
      'message',
      guarded('the context record', (answer: AnswerMessage) => this.#settle(answer)),
    );
    worker.on(
      'error',
      guarded('the context record', (error) => this.#end(error)),
    );
    worker.on(
      'exit',
      guarded('the context record', (code) =>
        this.#end(new Failed('thread_ended', `a thread ended with ${code}`)),
      ),
    );
    return worker;
  }

  #settle(answer: AnswerMessage): void {
    const error = this.#calls.settle(answer);
    this.#unrefIdle();
    if (codeOf(error) === 'record_damaged') this.#resolveDamaged(error!);
  }

  #unrefIdle(): void {
    if (this.#calls.size === 0) this.#worker?.unref();
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#resolveEnded(this.#ended);
    this.#calls.rejectAll(error);
  }
}
