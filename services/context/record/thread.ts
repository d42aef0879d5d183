import { Worker } from 'node:worker_threads';
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

/** Milliseconds after a start; what nobody has asked for by then no longer slows down services that start together. */
export const lateStartMs = 10_000;

const start = new URL('./thread-start.js', import.meta.url);

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A thread that answers calls by name, in any number at once. It keeps the process alive only while calls
 * wait for an answer.
 */
export class Thread {
  readonly #script: URL;
  readonly #data: object;
  readonly #late: NodeJS.Timeout | undefined;
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #ended: Error | null = null;
  /** Resolves with the reason when the thread can answer nothing any more. */
  readonly ended: Promise<Error>;
  readonly #resolveEnded: (error: Error) => void;
  /** Resolves with the first answer that says that the record is damaged. */
  readonly damaged: Promise<Error>;
  readonly #resolveDamaged: (error: Error) => void;

  /**
   * @param script a module that answers each CallMessage, in lists of AnswerMessage of any length
   * @param data what it finds as `workerData`
   * @param begin with `when asked` it starts with the first call, or after `lateStartMs`
   */
  constructor(script: URL, data: object, begin: 'now' | 'when asked' = 'now') {
    this.#script = script;
    this.#data = data;
    ({ promise: this.ended, resolve: this.#resolveEnded } = Promise.withResolvers<Error>());
    ({ promise: this.damaged, resolve: this.#resolveDamaged } = Promise.withResolvers<Error>());
    if (begin === 'now') this.#start();
    else this.#late = setTimeout(() => this.#start(), lateStartMs).unref();
  }

  /** Whether it has begun. */
  get started(): boolean {
    return this.#worker !== null;
  }

  /** @throws what the thread's function threw, Core's errors with their class; Failed (`thread_ended`) */
  call<Output>(name: string, input: unknown): Promise<Output> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = this.#next++;
    this.#start().ref();
    return new Promise<Output>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#start().postMessage({ id, name, input } satisfies CallMessage);
      } catch (error) {
        this.#settle({ id, error: copyOf(error) });
      }
    });
  }

  /** How many calls have no answer yet. */
  get load(): number {
    return this.#waiting.size;
  }

  async close(): Promise<void> {
    this.#end(new Failed('thread_ended', 'the thread was closed'));
    clearTimeout(this.#late);
    await this.#worker?.terminate();
  }

  #start(): Worker {
    if (this.#worker !== null) return this.#worker;
    const workerData = { ...this.#data, script: this.#script.href };
    const worker = new Worker(start, { workerData, resourceLimits });
    worker.unref();
    worker.on('message', (answers: readonly AnswerMessage[]) => {
      for (const answer of answers) this.#settle(answer);
    });
    worker.on('error', (error) => this.#end(error));
    worker.on('exit', (code) => this.#end(new Failed('thread_ended', `a thread ended with ${code}`)));
    this.#worker = worker;
    return worker;
  }

  #settle(answer: AnswerMessage): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if ('error' in answer) this.#refuse(waiting, errorFrom(answer.error));
    else waiting?.resolve(answer.value as never);
  }

  #refuse(waiting: Waiting | undefined, error: Error): void {
    if (codeOf(error) === 'record_damaged') this.#resolveDamaged(error);
    waiting?.reject(error);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#resolveEnded(this.#ended);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
