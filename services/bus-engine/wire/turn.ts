/** What has to be done once at the end of this turn of the event loop, in the order in which it was asked for. */
export class Turn {
  #waiting: Flushable[] = [];
  #scheduled = false;

  add(flushable: Flushable): void {
    this.#waiting.push(flushable);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const now = this.#waiting;
      this.#waiting = [];
      for (const one of now) one.flush();
    });
  }
}

export interface Flushable {
  flush(): void;
}
