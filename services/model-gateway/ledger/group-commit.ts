import { crashPoint } from '#kit/crash-point.ts';
import type { CallRows, EndedCall, OpenCall } from './call-rows.ts';
import type { OpenCallsLog } from './open-calls-log.ts';
import { isLocked, patienceMs, whenFree } from './storage-error.ts';

interface Opening {
  readonly call: OpenCall;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Ended calls wait so long, in milliseconds, to be written together. A kill meanwhile leaves them at what was reserved. */
const endedWaitMs = 40;
const lockedWaitMs = 50;
const retryMs = 1_000;

/**
 * Writes calls in groups. All that begin in one turn of the event loop are one writing, done before any of them goes on; those
 * that ended follow a little later, in one commit. What ended and cannot be written is kept and tried again; a lock of another
 * process is a problem only when it lasts.
 */
export class GroupCommit {
  readonly #rows: CallRows;
  readonly #openCalls: Pick<OpenCallsLog, 'append'>;
  readonly #oldest: () => number;
  #opening: Opening[] = [];
  #ended: EndedCall[] = [];
  #recorded: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #probe: NodeJS.Timeout | undefined;
  /** Of the monotonic clock; null while nobody has the ledger locked. */
  #lockedSince: number | null = null;
  #closed = false;
  /** Why nothing can be written; null when it can. */
  problem: unknown = null;
  commits = 0;

  /** @param oldest no call before it is open */
  constructor(rows: CallRows, openCalls: Pick<OpenCallsLog, 'append'>, oldest: () => number) {
    this.#rows = rows;
    this.#openCalls = openCalls;
    this.#oldest = oldest;
  }

  /**
   * Resolves when the call is on record.
   * @param alone no other call is under way, so that waiting for others of the same turn would be in vain
   */
  open(call: OpenCall, alone: boolean): Promise<void> {
    if (alone && this.#opening.length === 0) {
      return new Promise((resolve, reject) => {
        this.#opening.push({ call, resolve, reject });
        this.#commitOpening();
      });
    }
    return new Promise((resolve, reject) => {
      this.#opening.push({ call, resolve, reject });
      if (this.#opening.length === 1) setImmediate(() => this.#commitOpening());
    });
  }

  /** More is set aside for a call under way. @throws what the system says */
  raise(call: OpenCall): void {
    this.#tried(() => this.#openCalls.append([call]));
  }

  end(call: EndedCall): void {
    this.#ended.push(call);
    this.#timer ??= setTimeout(() => this.#commitEnded(), endedWaitMs);
  }

  /** Calls that ended and are not in the ledger yet. */
  get ended(): readonly EndedCall[] {
    return this.#ended;
  }

  /** Writes what waits, as soon as nobody has the ledger locked. Rejects with what SQLite says. */
  async flush(): Promise<void> {
    this.#commitOpening();
    await whenFree(() => this.#writeEnded());
  }

  /** After the last call of `flush`. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#probe);
  }

  /** Calls that came into the ledger since this was asked last. */
  takeRecorded(): readonly number[] {
    const recorded = this.#recorded;
    this.#recorded = [];
    return recorded;
  }

  #commitOpening(): void {
    const opening = this.#opening;
    if (opening.length === 0) return;
    this.#opening = [];
    try {
      // A ledger that takes no ends takes no beginnings.
      if (this.problem !== null) this.#writeEnded();
      this.#tried(() => this.#openCalls.append(opening.map(({ call }) => call)));
    } catch (error) {
      for (const { reject } of opening) reject(error);
      return;
    }
    crashPoint('ledger.reserved');
    for (const { resolve } of opening) resolve();
  }

  #commitEnded(): void {
    this.#timer = undefined;
    try {
      this.#writeEnded();
    } catch (error) {
      if (this.#closed) return;
      const wait = isLocked(error) && this.problem === null ? lockedWaitMs : retryMs;
      this.#timer = setTimeout(() => this.#commitEnded(), wait);
    }
  }

  #writeEnded(): void {
    const ended = this.#ended;
    if (ended.length === 0) return;
    this.#tried(() => this.#rows.commit(ended, this.#oldest()));
    this.#lockedSince = null;
    this.#ended = [];
    for (const { open } of ended) this.#recorded.push(open.id);
  }

  #tried(write: () => void): void {
    try {
      write();
      this.commits++;
      this.problem = null;
    } catch (error) {
      if (this.#isTrouble(error)) this.#note(error);
      throw error;
    }
  }

  #isTrouble(error: unknown): boolean {
    if (!isLocked(error)) return true;
    this.#lockedSince ??= performance.now();
    return performance.now() - this.#lockedSince >= patienceMs;
  }

  /** Nobody may ask again, and health has to tell when it is over. */
  #note(problem: unknown): void {
    this.problem = problem;
    if (this.#closed) return;
    this.#probe ??= setTimeout(() => {
      this.#probe = undefined;
      try {
        this.#rows.probe(this.#oldest());
        this.#writeEnded();
        this.problem = null;
      } catch (error) {
        this.#note(error);
      }
    }, retryMs).unref();
  }
}
