import { crashPoint } from '#kit/crash-point.ts';
import type { CallRows, EndedCall, OpenCall } from './call-rows.ts';

interface Opening {
  readonly call: OpenCall;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Ended calls wait so long, in milliseconds, to be written together. A kill meanwhile leaves them at what was reserved. */
const endedWaitMs = 10;
const retryMs = 1_000;

/**
 * Writes calls in groups. All that begin in one turn of the event loop are one commit, made before any of them goes on; those
 * that ended follow a little later. What ended and cannot be written is kept and tried again.
 */
export class GroupCommit {
  readonly #rows: CallRows;
  readonly #oldest: () => number;
  #opening: Opening[] = [];
  #ended: EndedCall[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Why the last commit failed; null after one that did not. */
  problem: unknown = null;
  commits = 0;

  /** @param oldest no call before it is open */
  constructor(rows: CallRows, oldest: () => number) {
    this.#rows = rows;
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

  end(call: EndedCall): void {
    this.#ended.push(call);
    this.#timer ??= setTimeout(() => this.#commitEnded(), endedWaitMs);
  }

  /** Writes what waits. @throws what SQLite says */
  flush(): void {
    this.#commitOpening();
    if (this.#ended.length === 0) return;
    this.#write([], this.#ended);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #commitOpening(): void {
    const opening = this.#opening;
    if (opening.length === 0) return;
    this.#opening = [];
    try {
      this.#write(
        opening.map(({ call }) => call),
        [],
      );
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
      this.#write([], this.#ended);
    } catch {
      this.#timer = setTimeout(() => this.#commitEnded(), retryMs);
    }
  }

  #write(opened: readonly OpenCall[], ended: readonly EndedCall[]): void {
    try {
      this.#rows.commit(opened, ended, this.#oldest());
      this.commits++;
      this.problem = null;
    } catch (error) {
      this.problem = error;
      throw error;
    }
    if (ended.length > 0) this.#ended = [];
  }
}
