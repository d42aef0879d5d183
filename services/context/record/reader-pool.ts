import { Unavailable } from '#kit/errors.ts';
import type { Inputs, Outputs, Queries, RecordReader } from './calls.ts';
import { Thread } from './thread.ts';

/** How many questions may wait for one thread. */
const maxPending = 100;

export interface ReaderOptions<Q extends Queries> {
  readonly urgent?: readonly (keyof Q)[];
  readonly count?: number;
}

/** Threads that read the record, each with its own connection, so that a long query does not hold up a short one. */
export class ReaderPool<Q extends Queries> implements RecordReader<Q> {
  readonly #threads: Thread[] = [];
  readonly #script: URL;
  readonly #path: string;
  readonly #urgent: ReadonlySet<keyof Q>;
  #maxThreads: number;
  /** Resolves with the reason when one of the threads can read nothing any more. */
  readonly ended: Promise<Error>;
  readonly damaged: Promise<Error>;
  readonly #resolveEnded: (error: Error) => void;
  readonly #resolveDamaged: (error: Error) => void;
  readonly #gate = new IdleGate();

  /**
   * One thread starts at once, the others when all are busy.
   * @param script a module that calls `answerQueries`
   * @param path of the SQLite file, which is there and migrated before something is asked
   * @param urgent what people wait for; writes that can wait go after it
   */
  constructor(script: URL, path: string, { urgent = [], count = 2 }: ReaderOptions<Q> = {}) {
    this.#script = script;
    this.#path = path;
    this.#urgent = new Set(urgent);
    this.#maxThreads = count;
    ({ promise: this.ended, resolve: this.#resolveEnded } = Promise.withResolvers<Error>());
    ({ promise: this.damaged, resolve: this.#resolveDamaged } = Promise.withResolvers<Error>());
    this.#start();
  }

  /** Asks the thread that has least to do. @throws Unavailable (`too_busy`) */
  ask<Name extends keyof Q>(query: Name, input: Inputs<Q>[Name]): Promise<Outputs<Q>[Name]> {
    const least = this.#threads.reduce((best, thread) => (thread.load < best.load ? thread : best));
    const idle = least.load > 0 && this.#threads.length < this.#maxThreads ? this.#start() : least;
    if (idle.load >= maxPending) {
      const waiting = this.#threads.reduce((sum, thread) => sum + thread.load, 0);
      return Promise.reject(
        new Unavailable('too_busy', `${waiting} questions wait for the record, the limit`, { retryAfter: 1 }),
      );
    }
    const answer = idle.call<Outputs<Q>[Name]>(String(query), input);
    return this.#urgent.has(query) ? this.#gate.urgent(answer) : answer;
  }

  /** Resolves when nobody waits for a search or a lookup. @param maxMs after which it resolves all the same */
  idle(maxMs: number): Promise<void> {
    return this.#gate.idle(maxMs);
  }

  async close(): Promise<void> {
    this.#maxThreads = 0;
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #start(): Thread {
    const thread = new Thread(this.#script, { path: this.#path });
    this.#threads.push(thread);
    void thread.ended.then(this.#resolveEnded);
    void thread.damaged.then(this.#resolveDamaged);
    return thread;
  }
}

/** Lets work that can wait continue when no urgent work is running. */
export class IdleGate {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  /** Counts the work as running until it ends. */
  async urgent<Output>(work: Promise<Output>): Promise<Output> {
    this.#running++;
    try {
      return await work;
    } finally {
      if (--this.#running === 0) for (const resume of this.#waiting) resume();
    }
  }

  /** Resolves when nothing urgent is running, or after `maxMs` at the latest. */
  async idle(maxMs: number): Promise<void> {
    if (this.#running === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxMs);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}
