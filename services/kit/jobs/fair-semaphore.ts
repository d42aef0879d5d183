import { guarded } from '../callbacks.ts';

export interface SemaphoreLimits {
  /** Places for work at once. */
  readonly concurrency: number;
  /** Places that one caller may hold; default all. */
  readonly perCaller?: number;
  /** Requests that may wait for a place. */
  readonly maxPending: number;
  /** Requests of one caller that may wait; default all. */
  readonly maxPendingPerCaller?: number;
}

export interface SemaphoreState {
  readonly running: number;
  readonly waiting: number;
}

/** Makes the error for whom the queue has no room, or who waited in vain. */
export type Refusal = (reason: 'full' | 'timeout', state: SemaphoreState) => Error;

/** Gives the place back; more than once does nothing. */
export type Release = () => void;

interface Pending {
  readonly enter: () => void;
  readonly refuse: (error: unknown) => void;
}

interface Caller {
  readonly name: string;
  readonly pending: Set<Pending>;
  held: number;
  /** When it was served last, as a number that grows. */
  served: number;
}

/**
 * Limits concurrent work, and lets callers take turns: the next place goes to the caller who holds fewest, then to the one who was
 * served least recently. When the queue is full, the caller with the most requests in it loses its newest.
 */
export class FairSemaphore {
  readonly #limits: Required<SemaphoreLimits>;
  readonly #refusal: Refusal;
  /** Those who wait or work. */
  readonly #callers = new Map<string, Caller>();
  #running = 0;
  #waiting = 0;
  #turn = 0;

  constructor(limits: SemaphoreLimits, refusal: Refusal) {
    this.#limits = { perCaller: limits.concurrency, maxPendingPerCaller: limits.maxPending, ...limits };
    this.#refusal = refusal;
  }

  get state(): SemaphoreState {
    return { running: this.#running, waiting: this.#waiting };
  }

  /** @throws what `refusal` makes, and the signal's reason when it is aborted before there is a place */
  async enter(name: string, waitMs: number, signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted();
    const caller = this.#callers.get(name) ?? { name, pending: new Set(), held: 0, served: 0 };
    if (this.#running < this.#limits.concurrency && this.#mayEnter(caller)) return this.#begin(caller);
    this.#makeRoom(caller);
    return await new Promise<Release>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        if (caller.pending.delete(pending)) this.#waiting--;
      };
      const pending: Pending = {
        enter: () => {
          leave();
          resolve(this.#begin(caller));
        },
        refuse: (error) => {
          leave();
          this.#forgetIdle(caller);
          reject(error);
        },
      };
      const abort = guarded('the queue of jobs', () => pending.refuse(signal?.reason));
      const late = guarded('the queue of jobs', () => pending.refuse(this.#refusal('timeout', this.state)));
      const timer = setTimeout(late, Math.max(0, waitMs));
      signal?.addEventListener('abort', abort);
      this.#callers.set(name, caller);
      caller.pending.add(pending);
      this.#waiting++;
    });
  }

  /** @throws as `enter`, and what the work throws */
  async run<T>(name: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const release = await this.enter(name, waitMs);
    try {
      return await work();
    } finally {
      release();
    }
  }

  #begin(caller: Caller): Release {
    this.#callers.set(caller.name, caller);
    this.#running++;
    caller.held++;
    caller.served = ++this.#turn;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#running--;
      caller.held--;
      this.#admitNext();
      this.#forgetIdle(caller);
    };
  }

  #admitNext(): void {
    const [next] = [...this.#callers.values()]
      .filter((caller) => caller.pending.size > 0 && this.#mayEnter(caller))
      .sort((one, other) => one.held - other.held || one.served - other.served);
    const [first] = next?.pending ?? [];
    first?.enter();
  }

  /** @throws what `refusal` makes, where no other caller has more waiting than this one would have */
  #makeRoom(caller: Caller): void {
    const { maxPending, maxPendingPerCaller } = this.#limits;
    const own = caller.pending.size;
    if (own < maxPendingPerCaller && this.#waiting < maxPending) return;
    const full = this.#refusal('full', this.state);
    const [longest] = [...this.#callers.values()].sort((one, other) => other.pending.size - one.pending.size);
    if (own >= maxPendingPerCaller || longest === undefined || longest.pending.size <= own + 1) throw full;
    [...longest.pending].at(-1)!.refuse(full);
  }

  #mayEnter(caller: Caller): boolean {
    return caller.held < this.#limits.perCaller;
  }

  #forgetIdle(caller: Caller): void {
    if (caller.held === 0 && caller.pending.size === 0) this.#callers.delete(caller.name);
  }
}
