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
