/** Remembers that something changed until whoever follows it looks. */
export class Changes {
  #marked = Promise.withResolvers<void>();

  /** @param signal ends the waiting */
  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', this.mark);
  }

  readonly mark = (): void => this.#marked.resolve();

  /** Waits until something is marked; not at all where that was since the last time. */
  async next(): Promise<void> {
    await this.#marked.promise;
    this.#marked = Promise.withResolvers();
  }
}
