export interface Limit {
  /** Milliseconds. */
  readonly ms: number;
  /** Ends what is read, and makes the error for who waits. */
  readonly late: () => Error;
  /** When there was a sign of life last, by the monotonic clock; parts are not the only ones. */
  readonly heardAt?: () => number;
}

interface Waiting {
  readonly since: number;
  reject(error: Error): void;
}

/** Reads parts, and waits for none longer than the limit. One timer that is started anew costs less than one for each part. */
export class LimitedReader<T> {
  readonly #reader: ReadableStreamDefaultReader<T>;
  readonly #limit: Limit;
  #timer: NodeJS.Timeout | null = null;
  #waiting: Waiting | null = null;

  constructor(reader: ReadableStreamDefaultReader<T>, limit: Limit) {
    this.#reader = reader;
    this.#limit = limit;
  }

  read(): ReturnType<ReadableStreamDefaultReader<T>['read']> {
    return new Promise((resolve, reject) => {
      this.#waiting = { reject, since: performance.now() };
      if (this.#timer === null) this.#timer = setTimeout(() => this.#expire(), this.#limit.ms);
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
    if (waiting === null) return;
    const { ms, late, heardAt } = this.#limit;
    const left = Math.max(waiting.since, heardAt?.() ?? 0) + ms - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#expire(), left);
      return;
    }
    this.#waiting = null;
    waiting.reject(late());
  }
}
