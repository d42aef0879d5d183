import { Unavailable } from '#kit/errors.ts';
import type { Inputs, Outputs, Queries, RecordReader } from './calls.ts';
import { IdleGate } from './idle-gate.ts';
import { lateStartMs, Thread } from './thread.ts';

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
  readonly #late: NodeJS.Timeout;
  /** Resolves with the reason when one of the threads can read nothing any more. */
  readonly ended: Promise<Error>;
  readonly damaged: Promise<Error>;
  #answers = false;
  readonly #resolveEnded: (error: Error) => void;
  readonly #resolveDamaged: (error: Error) => void;
  readonly #gate = new IdleGate();

  /**
   * One thread starts at once, the others when one has more than it can do, or after `lateStartMs`.
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
    this.#late = setTimeout(() => this.#startAll(), lateStartMs).unref();
  }

  /** Asks the thread that has least to do. @throws Unavailable (`too_busy`) */
  ask<Name extends keyof Q>(query: Name, input: Inputs<Q>[Name]): Promise<Outputs<Q>[Name]> {
    const least = this.#threads.reduce((best, thread) => (thread.load < best.load ? thread : best));
    // What waits for a thread that is just starting needs no second one, unless it is very much.
    const busy = least.load > (this.#answers ? 0 : maxPending / 2);
    const idle = busy && this.#threads.length < this.#maxThreads ? this.#start() : least;
    if (idle.load >= maxPending) {
      const waiting = this.#threads.reduce((sum, thread) => sum + thread.load, 0);
      return Promise.reject(
        new Unavailable('too_busy', `${waiting} questions wait for the record, the limit`, { retryAfter: 1 }),
      );
    }
    const answer = idle.call<Outputs<Q>[Name]>(String(query), input);
    if (!this.#answers) void answer.catch(() => {}).then(() => (this.#answers = true));
    return this.#urgent.has(query) ? this.#gate.urgent(answer) : answer;
  }

  /** Resolves when nobody waits for a search or a lookup. @param maxMs after which it resolves all the same */
  idle(maxMs: number): Promise<void> {
    return this.#gate.idle(maxMs);
  }

  async close(): Promise<void> {
    clearTimeout(this.#late);
    this.#maxThreads = 0;
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #startAll(): void {
    while (this.#threads.length < this.#maxThreads) this.#start();
  }

  #start(): Thread {
    const thread = new Thread(this.#script, { path: this.#path });
    this.#threads.push(thread);
    void thread.ended.then(this.#resolveEnded);
    void thread.damaged.then(this.#resolveDamaged);
    return thread;
  }
}
