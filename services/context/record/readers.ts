import { Unavailable } from '#kit/errors.ts';
import { Precedence } from './precedence.ts';
import type { ReadQueries } from './read-queries.ts';
import { othersStartedMs, Thread } from './thread.ts';

export type ReadQuery = keyof ReadQueries;
type InputOf<Q extends ReadQuery> = Parameters<ReadQueries[Q]>[1];
type OutputOf<Q extends ReadQuery> = ReturnType<ReadQueries[Q]>;

const script = new URL('./reader-thread.ts', import.meta.url);

/** How many questions may wait for one thread. */
const mostWaiting = 100;
/** What people wait for. */
const urgent: ReadonlySet<ReadQuery> = new Set(['search', 'lookUpMemories']);

/** Threads that read the record, each with its own connection, so that a long query does not hold up a short one. */
export class Readers {
  readonly #threads: Thread[] = [];
  readonly #path: string;
  #most: number;
  readonly #late: NodeJS.Timeout;
  /** Resolves with the reason when one of the threads can read nothing any more. */
  readonly ended: Promise<Error>;
  readonly damaged: Promise<Error>;
  #answers = false;
  #tellEnd: (error: Error) => void = () => {};
  #tellDamage: (error: Error) => void = () => {};
  readonly #precedence = new Precedence();

  /**
   * One thread starts at once, the others when one has more than it can do, or when all around has started.
   * @param path of the SQLite file, which is there and migrated before something is asked
   */
  constructor(path: string, count = 2) {
    this.#path = path;
    this.#most = count;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    this.damaged = new Promise((resolve) => {
      this.#tellDamage = resolve;
    });
    this.#start();
    this.#late = setTimeout(() => this.#startAll(), othersStartedMs).unref();
  }

  /** Asks the thread that has least to do. @throws Unavailable (`too_busy`) */
  ask<Q extends ReadQuery>(query: Q, input: InputOf<Q>): Promise<OutputOf<Q>> {
    const least = this.#threads.reduce((best, thread) => (thread.load < best.load ? thread : best));
    // What waits for a thread that is just starting needs no second one, unless it is very much.
    const busy = least.load > (this.#answers ? 0 : mostWaiting / 2);
    const idle = busy && this.#threads.length < this.#most ? this.#start() : least;
    if (idle.load >= mostWaiting) {
      const waiting = this.#threads.reduce((sum, thread) => sum + thread.load, 0);
      return Promise.reject(
        new Unavailable('too_busy', `${waiting} questions wait for the record, the limit`, { retryAfter: 1 }),
      );
    }
    const answer = idle.call<OutputOf<Q>>(query, input);
    if (!this.#answers) void answer.catch(() => {}).then(() => (this.#answers = true));
    return urgent.has(query) ? this.#precedence.first(answer) : answer;
  }

  /** Resolves when nobody waits for a search or a lookup. @param longest milliseconds after which it resolves all the same */
  idle(longest: number): Promise<void> {
    return this.#precedence.idle(longest);
  }

  async close(): Promise<void> {
    clearTimeout(this.#late);
    this.#most = 0;
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #startAll(): void {
    while (this.#threads.length < this.#most) this.#start();
  }

  #start(): Thread {
    const thread = new Thread(script, { path: this.#path });
    this.#threads.push(thread);
    void thread.ended.then(this.#tellEnd);
    void thread.damaged.then(this.#tellDamage);
    return thread;
  }
}
