import { guarded } from '#kit/callbacks.ts';

/** Milliseconds in which one share of a second's frames may be read. */
const windowMs = 10;
/** In shares; more is forgiven. */
const maxDebt = 100;

/** Limits how fast one connection is read. What it sends beyond its share waits in its socket, and nothing is dropped. */
export class Throttle {
  readonly #share: number;
  readonly #reader: { readonly pause: () => void; readonly resume: () => void };
  #left: number;
  readonly #now: () => number;
  #since: number;
  #timer: NodeJS.Timeout | null = null;

  /** @param now monotonic, in milliseconds */
  constructor(
    perSecond: number,
    reader: { readonly pause: () => void; readonly resume: () => void },
    now = () => performance.now(),
  ) {
    this.#now = now;
    this.#since = now();
    this.#share = Math.max(1, Math.floor((perSecond * windowMs) / 1000));
    this.#reader = reader;
    this.#left = this.#share;
  }

  /** @param cost what breaks the rules costs more to handle than what is passed on */
  spend(cost: number): void {
    this.#left = Math.max(this.#left - cost, -maxDebt * this.#share);
    if (this.#left > 0 || this.#timer !== null) return;
    this.#refill();
    if (this.#left > 0) return;
    this.#reader.pause();
    this.#wait();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #refill(): void {
    const windows = Math.floor((this.#now() - this.#since) / windowMs);
    if (windows === 0) return;
    this.#since += windows * windowMs;
    this.#left = Math.min(this.#left + windows * this.#share, this.#share);
  }

  #wait(): void {
    const ms = (Math.floor(-this.#left / this.#share) + 1) * windowMs;
    this.#timer = setTimeout(
      guarded('the bus engine', () => {
        this.#timer = null;
        this.#refill();
        if (this.#left > 0) this.#reader.resume();
        else this.#wait();
      }),
      ms,
    );
  }
}
