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

/** Milliseconds after which the services that start together have all started: what nobody asked for yet costs them nothing then. */
export const othersStartedMs = 10_000;

/** So many calls are not kept until others come: the thread begins with them. */
const mostTogether = 8;
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
  #outbox: CallMessage[] = [];
  #next = 1;
  #ended: Error | null = null;
  #tellEnd: (error: Error) => void = () => {};
  /** Resolves with the reason when the thread can answer nothing any more. */
  readonly ended: Promise<Error>;
  #tellDamage: (error: Error) => void = () => {};
  /** Resolves with the first answer that says that the record is damaged. */
  readonly damaged: Promise<Error>;

  /**
   * @param script a module that answers lists of CallMessage with lists of AnswerMessage, of any length
   * @param data what it finds as `workerData`
   * @param begin with `when asked` it starts with the first call, or when all around has started
   */
  constructor(script: URL, data: object, begin: 'now' | 'when asked' = 'now') {
    this.#script = script;
    this.#data = data;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    this.damaged = new Promise((resolve) => {
      this.#tellDamage = resolve;
    });
    if (begin === 'now') this.#start();
    else this.#late = setTimeout(() => this.#start(), othersStartedMs).unref();
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
      if (this.#outbox.length === 0) setImmediate(() => this.#send());
      this.#outbox.push({ id, name, input });
      if (this.#outbox.length === mostTogether) this.#send();
    });
  }

  /** What was asked while the loop went round once goes in few messages, each of which costs as much as one call. */
  #send(): void {
    const calls = this.#outbox;
    if (calls.length === 0) return;
    this.#outbox = [];
    try {
      this.#start().postMessage(calls);
    } catch {
      for (const call of calls) this.#sendAlone(call);
    }
  }

  /** So that what cannot be sent fails its own call. */
  #sendAlone(call: CallMessage): void {
    try {
      this.#start().postMessage([call]);
    } catch (error) {
      this.#settle({ id: call.id, error: copyOf(error) });
    }
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
    if (codeOf(error) === 'record_damaged') this.#tellDamage(error);
    waiting?.reject(error);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#tellEnd(this.#ended);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
