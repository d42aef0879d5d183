/** Lets work that can wait go on when nothing is under way for which somebody waits. */
export class Precedence {
  #underWay = 0;
  readonly #waiting = new Set<() => void>();

  /** Counts the work as under way until it ends. */
  async first<Output>(work: Promise<Output>): Promise<Output> {
    this.#underWay++;
    try {
      return await work;
    } finally {
      if (--this.#underWay === 0) for (const goOn of this.#waiting) goOn();
    }
  }

  /** Resolves when nothing is under way. @param longest milliseconds after which it resolves all the same */
  async idle(longest: number): Promise<void> {
    if (this.#underWay === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, longest);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}
