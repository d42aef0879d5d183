import type { StoreStep } from './stored-rows.ts';

/** About what the writer does in 6 ms; several that wait are committed together. Whoever else wants to write waits for no more than all of these. */
const maxBatchCost = 32_000;
const maxPending = 4;
/** What a node costs besides its text, in characters of text. */
const nodeCost = 600;

/** Sends steps to the writer, many at a time, in their order, no more than it can do at once. */
export class Batches {
  readonly #send: (steps: readonly StoreStep[]) => Promise<void>;
  readonly #pending = new Set<Promise<void>>();
  #steps: StoreStep[] = [];
  #cost = 0;

  constructor(send: (steps: readonly StoreStep[]) => Promise<void>) {
    this.#send = send;
  }

  async add(steps: readonly StoreStep[]): Promise<void> {
    for (const step of steps) {
      const cost = costOf(step);
      if (this.#cost > 0 && this.#cost + cost > maxBatchCost) await this.#flush();
      this.#steps.push(step);
      this.#cost += cost;
    }
  }

  /** Resolves when all is committed. */
  async end(): Promise<void> {
    await this.#flush();
    await Promise.all(this.#pending);
  }

  async #flush(): Promise<void> {
    if (this.#steps.length === 0) return;
    while (this.#pending.size >= maxPending) await Promise.race(this.#pending);
    const sent = this.#send(this.#steps).finally(() => this.#pending.delete(sent));
    // `add` and `end` reject with it; until then it must not end the process.
    sent.catch(() => {});
    this.#pending.add(sent);
    this.#steps = [];
    this.#cost = 0;
  }
}

function costOf(step: StoreStep): number {
  if (step.step === 'file') return nodeCost + step.text.length;
  if (step.step === 'part') return nodeCost + step.part.text.length;
  return step.step === 'done' ? nodeCost + step.ids.length * 20 : nodeCost;
}
