/**
 * Keeps what was found out for the turn of the event loop in which it was: calls that arrive together ask the file system once,
 * and each turn sees what others changed before it.
 */
export class ThisTurn<T> {
  #kept: { readonly value: T } | null = null;

  /** @param find asked where nothing is kept; what it throws is not kept */
  get(find: () => T): T {
    if (this.#kept !== null) return this.#kept.value;
    const value = find();
    this.#kept = { value };
    setImmediate(() => {
      this.#kept = null;
    });
    return value;
  }
}
