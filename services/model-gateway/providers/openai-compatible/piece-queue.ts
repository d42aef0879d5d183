import { TimeLimit } from '../../time-limit.ts';

/** How many bytes wait here before the sender is asked to stop. */
const highWaterMark = 64 * 1024;

export interface PieceSource {
  pause(): void;
  resume(): void;
  /** Ends what still sends. */
  abort(): void;
}

interface Waiting {
  resolve(result: IteratorResult<Buffer>): void;
  reject(error: Error): void;
}

/**
 * Pieces between one that sends and one that reads: the sender is stopped while too much waits, so that memory has a bound.
 * Waiting for a piece is limited by `idleMs`; a slow reader is not.
 */
export class PieceQueue implements AsyncIterableIterator<Buffer> {
  readonly #source: PieceSource;
  readonly #idleMs: number;
  readonly #late: () => Error;
  #pieces: Buffer[] = [];
  #size = 0;
  #paused = false;
  #begun = false;
  #ended = false;
  #error: Error | null = null;
  #limit: TimeLimit | null = null;
  #waiting: Waiting | null = null;

  /** @param late makes the error for a piece that did not come in time */
  constructor(source: PieceSource, idleMs: number, late: () => Error) {
    this.#source = source;
    this.#idleMs = idleMs;
    this.#late = late;
  }

  push(piece: Buffer): void {
    if (this.#ended || piece.length === 0) return;
    const waiting = this.#takeWaiting();
    if (waiting !== null) {
      this.#begun = true;
      waiting.resolve({ done: false, value: piece });
      return;
    }
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#paused || this.#size < highWaterMark) return;
    this.#paused = true;
    this.#source.pause();
  }

  end(): void {
    this.#ended = true;
    this.#takeWaiting()?.resolve({ done: true, value: undefined });
  }

  /** What waits is still given out before the error. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    const waiting = this.#takeWaiting();
    if (waiting === null) this.#error = error;
    else waiting.reject(error);
  }

  /** Everything, where the sender has ended already; else null, and nothing is taken. */
  takeWhole(): Buffer | null {
    return this.#ended && this.#error === null ? this.#takeAll() : null;
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#size > 0) {
      return Promise.resolve({ done: false, value: this.#begun ? this.#takeAll() : this.#takeFirst() });
    }
    if (this.#error !== null) {
      const error = this.#error;
      this.#error = null;
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#limit === null) this.#limit = new TimeLimit(this.#idleMs, () => this.#expire());
      else this.#limit.renew();
    });
  }

  /** The reader wants no more. */
  return(): Promise<IteratorResult<Buffer>> {
    const running = !this.#ended;
    this.end();
    this.#pieces = [];
    this.#size = 0;
    this.#liftLimit();
    if (running) this.#source.abort();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A first token must not wait until all that came with it was looked at. */
  #takeFirst(): Buffer {
    const piece = this.#pieces.shift()!;
    this.#begun = true;
    this.#taken(piece.length);
    return piece;
  }

  /** What came while the reader was busy is one piece: each costs more than its bytes. */
  #takeAll(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#taken(this.#size);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  #taken(bytes: number): void {
    this.#size -= bytes;
    if (!this.#paused || this.#size >= highWaterMark) return;
    this.#paused = false;
    this.#source.resume();
  }

  /** The limit stays for the next wait. */
  #takeWaiting(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (this.#ended) this.#liftLimit();
    return waiting;
  }

  #expire(): void {
    this.#limit = null;
    if (this.#waiting === null) return;
    this.fail(this.#late());
    this.#source.abort();
  }

  #liftLimit(): void {
    this.#limit?.lift();
    this.#limit = null;
  }
}
