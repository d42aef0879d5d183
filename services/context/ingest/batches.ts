import type { FileRows } from './stored-rows.ts';

/** About what the writer does in 6 ms; several that wait are committed together. Whoever else wants to write waits for no more than all of these. */
const maxBatchCost = 32_000;
const maxPending = 4;
/** What a node costs besides its text, in characters of text. */
const nodeCost = 600;

/** Sends files to the writer, several at a time, in their order, no more than it can do at once. */
export class Batches {
  readonly #send: (files: readonly FileRows[]) => Promise<void>;
  readonly #pending = new Set<Promise<void>>();
  #files: FileRows[] = [];
  #cost = 0;

  constructor(send: (files: readonly FileRows[]) => Promise<void>) {
    this.#send = send;
  }

  async add(file: FileRows): Promise<void> {
    const cost = costOf(file);
    if (this.#cost > 0 && this.#cost + cost > maxBatchCost) await this.#flush();
    this.#files.push(file);
    this.#cost += cost;
  }

  /** Resolves when all is committed. */
  async end(): Promise<void> {
    await this.#flush();
    await Promise.all(this.#pending);
  }

  async #flush(): Promise<void> {
    if (this.#files.length === 0) return;
    while (this.#pending.size >= maxPending) await Promise.race(this.#pending);
    const sent = this.#send(this.#files).finally(() => this.#pending.delete(sent));
    // `add` and `end` reject with it; until then it must not end the process.
    sent.catch(() => {});
    this.#pending.add(sent);
    this.#files = [];
    this.#cost = 0;
  }
}

function costOf(file: FileRows): number {
  if ('skipped' in file) return nodeCost;
  return file.parts.reduce((sum, { text }) => sum + nodeCost + text.length, nodeCost + file.text.length);
}
