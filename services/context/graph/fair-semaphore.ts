import { tooBusy, waitedTooLong } from './refusals.ts';

interface Waiting {
  readonly caller: string;
  readonly enter: () => void;
}

/**
 * So many places for work at once, in which callers take turns: the next place goes to the one who holds fewest, then to the one who
 * was served least recently, so that nobody waits behind all that another one asked before.
 */
export class FairSemaphore {
  readonly #places: number;
  readonly #each: number;
  readonly #mostWaiting: number;
  #waiting: Waiting[] = [];
  /** How many places each caller holds. */
  readonly #held = new Map<string, number>();
  /** When each caller who waits or works was served last, as a number that grows. */
  readonly #served = new Map<string, number>();
  #turn = 0;

  /** @param each places that one caller may hold @param mostWaiting of one caller; of all together it is twice that */
  constructor({
    places,
    each,
    mostWaiting,
  }: { readonly places: number; readonly each: number; readonly mostWaiting: number }) {
    this.#places = places;
    this.#each = each;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * @param deadline until when to wait for a place, by `performance.now()`
   * @throws Unavailable (`cypher_busy`)
   */
  async run<T>(caller: string, deadline: number, work: () => Promise<T>): Promise<T> {
    await this.#entered(caller, deadline);
    this.#served.set(caller, ++this.#turn);
    try {
      return await work();
    } finally {
      const left = this.#held.get(caller)! - 1;
      if (left > 0) this.#held.set(caller, left);
      else this.#held.delete(caller);
      this.#admit();
      if (left === 0 && !this.#waiting.some((one) => one.caller === caller)) this.#served.delete(caller);
    }
  }

  async #entered(caller: string, deadline: number): Promise<void> {
    const own = this.#waiting.filter((one) => one.caller === caller).length;
    if (own >= this.#mostWaiting || this.#waiting.length >= 2 * this.#mostWaiting)
      throw tooBusy(this.#waiting.length);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((enter, reject) => {
        const waiting = { caller, enter };
        timer = setTimeout(
          () => {
            this.#waiting = this.#waiting.filter((one) => one !== waiting);
            reject(waitedTooLong());
          },
          Math.max(0, deadline - performance.now()),
        );
        this.#waiting.push(waiting);
        this.#admit();
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #admit(): void {
    for (;;) {
      const held = [...this.#held.values()].reduce((sum, count) => sum + count, 0);
      const next = held < this.#places ? this.#next() : undefined;
      if (next === undefined) return;
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#held.set(next.caller, this.#heldBy(next) + 1);
      next.enter();
    }
  }

  #next(): Waiting | undefined {
    const free = this.#waiting.filter((one) => this.#heldBy(one) < this.#each);
    const before = (one: Waiting, other: Waiting) =>
      this.#heldBy(one) - this.#heldBy(other) || this.#servedAt(one) - this.#servedAt(other);
    return free.reduce<Waiting | undefined>(
      (best, one) => (best === undefined || before(one, best) < 0 ? one : best),
      undefined,
    );
  }

  #heldBy({ caller }: Waiting): number {
    return this.#held.get(caller) ?? 0;
  }

  #servedAt({ caller }: Waiting): number {
    return this.#served.get(caller) ?? 0;
  }
}
