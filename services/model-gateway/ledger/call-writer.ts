import { crashPoint } from '#kit/crash-point.ts';
import type { CallRows, EndedCall, OpenCall } from './call-rows.ts';
import { isLocked, patienceMs, whenFree } from './storage-error.ts';

const lockedWaitMs = 50;
const retryMs = 1_000;

/**
 * Writes each call before it is made, and its end as soon as it is known. Ends that cannot be written are kept and tried again;
 * a lock of another process is a problem only when it lasts.
 */
export class CallWriter {
  readonly #rows: Pick<CallRows, 'open' | 'raise' | 'end' | 'probe'>;
  #unwritten: EndedCall[] = [];
  #retry: NodeJS.Timeout | undefined;
  /** Of the monotonic clock; null while nobody has the ledger locked. */
  #lockedSince: number | null = null;
  #closed = false;
  /** Why nothing can be written; null when it can. */
  problem: unknown = null;
  /** How often something was written. */
  writes = 0;

  constructor(rows: Pick<CallRows, 'open' | 'raise' | 'end' | 'probe'>) {
    this.#rows = rows;
  }

  /** Resolves when the call is on record. Rejects with what SQLite says. */
  async open(call: OpenCall): Promise<void> {
    await whenFree(() =>
      this.#tried(() => {
        // A ledger that takes no ends takes no beginnings.
        this.#writeEnded();
        this.#rows.open(call);
      }),
    );
    crashPoint('ledger.reserved');
  }

  /** More is set aside for a call under way. @throws what SQLite says */
  raise(call: OpenCall): void {
    this.#tried(() => this.#rows.raise(call));
  }

  end(call: EndedCall): void {
    this.#unwritten.push(call);
    if (this.#retry === undefined) this.#tryAgain();
  }

  /** Calls that ended and are not in the ledger yet. */
  get unwritten(): readonly EndedCall[] {
    return this.#unwritten;
  }

  /** Writes what waits, as soon as nobody has the ledger locked. Rejects with what SQLite says. */
  async flush(): Promise<void> {
    await whenFree(() => this.#tried(() => this.#writeEnded()));
  }

  /** After the last call of `flush`. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  #writeEnded(): void {
    if (this.#unwritten.length === 0) return;
    this.#rows.end(this.#unwritten);
    this.#unwritten = [];
  }

  #tried(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    this.writes++;
    this.problem = null;
    this.#lockedSince = null;
  }

  /** Perhaps nobody asks again, and health has to report when it is over. */
  #failed(error: unknown): void {
    const locked = isLocked(error);
    if (locked) this.#lockedSince ??= performance.now();
    if (!locked || performance.now() - this.#lockedSince! >= patienceMs) this.problem = error;
    if (this.#closed) return;
    const wait = locked && this.problem === null ? lockedWaitMs : retryMs;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#tryAgain();
    }, wait).unref();
  }

  #tryAgain(): void {
    try {
      this.#tried(() => {
        if (this.problem !== null) this.#rows.probe();
        this.#writeEnded();
      });
    } catch {
      // What failed is noted and tried again.
    }
  }
}
