interface Waiting {
  reject(error: Error): void;
}

/** Reads parts, and waits for none longer than the limit. One timer that is started anew costs less than one for each part. */
export class LimitedReader<T> {
  readonly #reader: ReadableStreamDefaultReader<T>;
  readonly #ms: number;
  readonly #late: () => Error;
  #timer: NodeJS.Timeout | null = null;
  #waiting: Waiting | null = null;

  /** @param late ends what is read, and makes the error for who waits */
  constructor(reader: ReadableStreamDefaultReader<T>, ms: number, late: () => Error) {
    this.#reader = reader;
    this.#ms = ms;
    this.#late = late;
  }

  read(): ReturnType<ReadableStreamDefaultReader<T>['read']> {
    return new Promise((resolve, reject) => {
      this.#waiting = { reject };
      if (this.#timer === null) this.#timer = setTimeout(() => this.#expire(), this.#ms);
      else this.#timer.refresh();
      this.#reader.read().then(
        (result) => {
          this.#waiting = null;
          resolve(result);
        },
        (error) => {
          this.#waiting = null;
          reject(error);
        },
      );
    });
  }

  /** Waits for nothing more. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#waiting = null;
  }

  #expire(): void {
    this.#timer = null;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.reject(this.#late());
  }
}
