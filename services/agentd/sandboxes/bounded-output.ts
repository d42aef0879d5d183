/**
 * Output of which at most `limit` bytes are kept: the head and the tail, with a line between them that says how much is
 * missing. What was done stands at the beginning of a log, what went wrong at its end.
 */
export class BoundedOutput {
  readonly #head: Buffer;
  /** A ring; its oldest byte is at `#tailBytes` modulo its length once it is full. */
  readonly #tail: Buffer;
  #headBytes = 0;
  #tailBytes = 0;

  constructor(limit: number) {
    this.#head = Buffer.allocUnsafe(Math.ceil(limit / 2));
    this.#tail = Buffer.allocUnsafe(limit - this.#head.length);
  }

  /** Whether bytes were left out. */
  get truncated(): boolean {
    return this.#tailBytes > this.#tail.length;
  }

  add(chunk: Uint8Array): void {
    const first = chunk.subarray(0, this.#head.length - this.#headBytes);
    this.#head.set(first, this.#headBytes);
    this.#headBytes += first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    const size = this.#tail.length;
    const last = rest.subarray(Math.max(0, rest.length - size));
    const start = size === 0 ? 0 : (this.#tailBytes + rest.length - last.length) % size;
    const untilEnd = last.subarray(0, size - start);
    this.#tail.set(untilEnd, start);
    this.#tail.set(last.subarray(untilEnd.length), 0);
    this.#tailBytes += rest.length;
  }

  bytes(): Uint8Array {
    const head = this.#head.subarray(0, this.#headBytes);
    if (!this.truncated) return Buffer.concat([head, this.#tail.subarray(0, this.#tailBytes)]);
    const size = this.#tail.length;
    const oldest = size === 0 ? 0 : this.#tailBytes % size;
    const gap = Buffer.from(`\n[${this.#tailBytes - size} bytes left out]\n`);
    return Buffer.concat([head, gap, this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)]);
  }
}
