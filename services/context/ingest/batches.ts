import type { PartRow, StoreStep } from './stored-rows.ts';

/** About what the writer does in 6 ms; several that wait are committed together. Whoever else wants to write waits for no more than all of these. */
const largestBatch = 32_000;
const mostUnderWay = 4;
/** What a node costs besides its text, in characters of text. */
const costOfNode = 600;

/** Sends steps to the writer, many at a time, in their order, no more than it can do at once. */
export class Batches {
  readonly #send: (steps: readonly StoreStep[]) => Promise<void>;
  readonly #underWay = new Set<Promise<void>>();
  #steps: StoreStep[] = [];
  #cost = 0;

  constructor(send: (steps: readonly StoreStep[]) => Promise<void>) {
    this.#send = send;
  }

  async add(steps: readonly StoreStep[]): Promise<void> {
    for (const step of steps) {
      if (step.step !== 'parts') await this.#put(step, costOf(step));
      else for (const parts of inPieces(step.parts)) await this.#put({ ...step, parts }, costOfParts(parts));
    }
  }

  /** Resolves when all is committed. */
  async end(): Promise<void> {
    await this.#flush();
    await Promise.all(this.#underWay);
  }

  async #put(step: StoreStep, cost: number): Promise<void> {
    if (this.#cost > 0 && this.#cost + cost > largestBatch) await this.#flush();
    this.#steps.push(step);
    this.#cost += cost;
  }

  async #flush(): Promise<void> {
    if (this.#steps.length === 0) return;
    while (this.#underWay.size >= mostUnderWay) await Promise.race(this.#underWay);
    const sent = this.#send(this.#steps).finally(() => this.#underWay.delete(sent));
    // Told to who waits for it; until then it must not end the process.
    sent.catch(() => {});
    this.#underWay.add(sent);
    this.#steps = [];
    this.#cost = 0;
  }
}

function costOf(step: Exclude<StoreStep, { step: 'parts' }>): number {
  if (step.step === 'file') return costOfNode + step.text.length;
  return step.step === 'done' ? costOfNode + step.ids.length * 20 : costOfNode;
}

function costOfParts(parts: readonly PartRow[]): number {
  return parts.reduce((cost, { text }) => cost + costOfNode + text.length, 0);
}

function* inPieces(parts: readonly PartRow[]): Generator<PartRow[]> {
  let piece: PartRow[] = [];
  let cost = 0;
  for (const part of parts) {
    const own = costOfParts([part]);
    if (piece.length > 0 && cost + own > largestBatch) {
      yield piece;
      piece = [];
      cost = 0;
    }
    piece.push(part);
    cost += own;
  }
  if (piece.length > 0) yield piece;
}
