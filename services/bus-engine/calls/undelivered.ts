import type { PendingCall } from './pending-call.ts';

interface Kept {
  readonly call: PendingCall;
  readonly payload: string;
  readonly since: number;
}

/** Calls whose worker went before they left for it: they wait a little for another one with the function. */
export class Undelivered {
  readonly #byFunction = new Map<string, Kept[]>();
  readonly #waitMs: number;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  keep(call: PendingCall, payload: string, now: number): void {
    const others = this.#byFunction.get(call.functionId);
    const kept = { call, payload, since: now };
    if (others === undefined) this.#byFunction.set(call.functionId, [kept]);
    else others.push(kept);
  }

  take(functionId: string): readonly Kept[] {
    const kept = this.#byFunction.get(functionId) ?? [];
    this.#byFunction.delete(functionId);
    return kept;
  }

  /** Those that waited long enough; they are kept no longer. */
  expired(now: number): readonly PendingCall[] {
    const ended: PendingCall[] = [];
    for (const [functionId, kept] of this.#byFunction) {
      const still = kept.filter(({ since }) => now - since < this.#waitMs);
      ended.push(...kept.filter(({ since }) => now - since >= this.#waitMs).map(({ call }) => call));
      if (still.length === 0) this.#byFunction.delete(functionId);
      else this.#byFunction.set(functionId, still);
    }
    return ended;
  }
}
