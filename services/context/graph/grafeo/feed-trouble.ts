import { Unavailable } from '#kit/errors.ts';

const firstWaitMs = 2_000;
const longestWaitMs = 30_000;

/** Why the projection cannot be brought up to the record, since when, and when it is tried again. */
export class FeedTrouble {
  reason: string | null = null;
  #since = 0;
  #until = 0;
  #waitMs = 0;

  /** Whether it is too early to try again. */
  get waits(): boolean {
    return this.reason !== null && performance.now() < this.#until;
  }

  get seconds(): number {
    return this.reason === null ? 0 : Math.round((performance.now() - this.#since) / 1_000);
  }

  note(reason: string): void {
    const now = performance.now();
    if (this.reason === null) this.#since = now;
    this.reason = reason;
    this.#waitMs = Math.min(longestWaitMs, this.#waitMs * 2 || firstWaitMs);
    this.#until = now + this.#waitMs;
  }

  isOver(): void {
    this.reason = null;
    this.#waitMs = 0;
  }

  retryNow(): void {
    this.#until = 0;
  }

  /** @throws Unavailable (`cypher_unavailable`) */
  throwIfAny(): void {
    if (this.reason === null) return;
    const detail = `the graph's projection cannot be written, the one before is kept: ${this.reason}`;
    throw new Unavailable('cypher_unavailable', detail, { retryAfter: 30 });
  }
}
