import { UpstreamFailure } from './failure.ts';

export interface QueueLimits {
  /** Calls at once. */
  readonly concurrency: number;
  /** Calls that wait. */
  readonly waiting: number;
  readonly wait_ms: number;
}

interface Waiting {
  enter(): void;
  refuse(error: UpstreamFailure): void;
}

/** Lets the caller in again for somebody else; more than once does nothing. */
export type Leave = () => void;

/**
 * So many calls at once; the others wait, and accounts take turns however many calls each has waiting. When it is full, the
 * account with the most waiting gives up its newest.
 */
export class FairSemaphore {
  readonly #upstream: string;
  readonly #limits: QueueLimits;
  /** In the order of their turns; those with nobody waiting are not in it. */
  readonly #accounts = new Map<string, Set<Waiting>>();
  #running = 0;
  #waiting = 0;

  constructor(upstream: string, limits: QueueLimits) {
    this.#upstream = upstream;
    this.#limits = limits;
  }

  get state(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting };
  }

  /** @throws UpstreamFailure (`queue_full`, `queue_timeout`), and the signal's reason when it is aborted first */
  async enter(account: string, signal: AbortSignal): Promise<Leave> {
    signal.throwIfAborted();
    if (this.#running < this.#limits.concurrency) return this.#begin();
    if (this.#waiting >= this.#limits.waiting) {
      const full = this.#refused(
        'queue_full',
        `has ${this.#running} calls under way and ${this.#waiting} waiting, the limit`,
      );
      const newest = this.#newestOfMost(account);
      if (newest === null) throw full;
      newest.refuse(full);
    }
    return await new Promise<Leave>((resolve, reject) => {
      const give = (error: unknown) => {
        this.#remove(account, waiting);
        done();
        reject(error);
      };
      const gone = () => give(signal.reason);
      const timer = setTimeout(
        () => give(this.#refused('queue_timeout', `had no place for ${this.#limits.wait_ms / 1000} s`)),
        this.#limits.wait_ms,
      );
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', gone);
      };
      const waiting: Waiting = {
        enter: () => {
          done();
          resolve(this.#begin());
        },
        refuse: give,
      };
      signal.addEventListener('abort', gone);
      const own = this.#accounts.get(account);
      if (own === undefined) this.#accounts.set(account, new Set([waiting]));
      else own.add(waiting);
      this.#waiting++;
    });
  }

  #begin(): Leave {
    this.#running++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#running--;
      this.#letIn();
    };
  }

  #letIn(): void {
    const [next] = this.#accounts;
    if (next === undefined || this.#running >= this.#limits.concurrency) return;
    const [account, queue] = next;
    const [waiting] = queue;
    this.#remove(account, waiting!);
    // Its turn comes again after all others.
    if (this.#accounts.delete(account)) this.#accounts.set(account, queue);
    waiting!.enter();
  }

  /** null where nobody has more waiting than this account would have. */
  #newestOfMost(account: string): Waiting | null {
    let most = (this.#accounts.get(account)?.size ?? 0) + 1;
    let newest: Waiting | null = null;
    for (const queue of this.#accounts.values()) {
      if (queue.size <= most) continue;
      most = queue.size;
      newest = [...queue].at(-1)!;
    }
    return newest;
  }

  #remove(account: string, waiting: Waiting): void {
    const queue = this.#accounts.get(account);
    if (queue?.delete(waiting) !== true) return;
    this.#waiting--;
    if (queue.size === 0) this.#accounts.delete(account);
  }

  #refused(code: string, what: string): UpstreamFailure {
    return new UpstreamFailure({
      status: 429,
      remedy: 'next',
      retryAfterMs: 1_000,
      error: { message: `upstream ${this.#upstream} ${what}`, type: 'rate_limit_error', param: null, code },
    });
  }
}
