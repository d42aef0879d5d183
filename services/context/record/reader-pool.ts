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
  readonly #threads: readonly Thread[];
  readonly #urgent: ReadonlySet<keyof Q>;
  /** Resolves with the reason when one of the threads can read nothing any more. */
  readonly ended: Promise<Error>;
  readonly damaged: Promise<Error>;
  readonly #gate = new IdleGate();

  /**
   * @param script a module that calls `answerQueries`
   * @param path of the SQLite file, which is there and migrated before something is asked
   * @param urgent what people wait for; writes that can wait go after it
   * @param count of threads; the second starts when the first is busy
   */
  constructor(script: URL, path: string, { urgent = [], count = 2 }: ReaderOptions<Q> = {}) {
    this.#threads = Array.from({ length: count }, () => new Thread(script, { path }));
    this.#urgent = new Set(urgent);
    this.ended = Promise.race(this.#threads.map(({ ended }) => ended));
    this.damaged = Promise.race(this.#threads.map(({ damaged }) => damaged));
  }

  /** Asks the thread that has least to do. @throws Unavailable (`too_busy`) */
  ask<Name extends keyof Q>(query: Name, input: Inputs<Q>[Name]): Promise<Outputs<Q>[Name]> {
    const least = this.#threads.reduce((best, thread) => (thread.load < best.load ? thread : best));
    if (least.load >= maxPending) {
      const waiting = this.#threads.reduce((sum, thread) => sum + thread.load, 0);
      return Promise.reject(
        new Unavailable('too_busy', `${waiting} questions wait for the record, the limit`, { retryAfter: 1 }),
      );
    }
    const answer = least.call<Outputs<Q>[Name]>(String(query), input);
    return this.#urgent.has(query) ? this.#gate.urgent(answer) : answer;
  }

  /** Resolves when nobody waits for a search or a lookup. @param maxMs after which it resolves all the same */
  idle(maxMs: number): Promise<void> {
    return this.#gate.idle(maxMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
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
