/** Milliseconds in which a share of a second's frames may be read. */
const windowMs = 10;

/**
 * How much one connection may be read: what it sends beyond its share waits in its socket, so that a flood slows down who makes it
 * and not the others. Nothing is dropped.
 */
export class Throttle {
  readonly #share: number;
  readonly #pause: () => void;
  readonly #resume: () => void;
  #left: number;
  #windowEnds = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(perSecond: number, reader: { readonly pause: () => void; readonly resume: () => void }) {
    this.#share = Math.max(1, Math.floor((perSecond * windowMs) / 1000));
    this.#left = this.#share;
    this.#pause = reader.pause;
    this.#resume = reader.resume;
  }

  /** @param cost what breaks the rules costs more to handle than what is passed on */
  spend(cost: number): void {
    this.#left -= cost;
    if (this.#left > 0 || this.#timer !== null) return;
    const now = performance.now();
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + windowMs;
      this.#left += this.#share;
      if (this.#left > 0) return;
    }
    this.#wait(this.#windowEnds - now + Math.ceil(-this.#left / this.#share) * windowMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    this.#pause();
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#left = this.#share;
        this.#windowEnds = performance.now() + windowMs;
        this.#resume();
      },
      Math.min(ms, 1_000),
    );
  }
}
