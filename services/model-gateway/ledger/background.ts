import { Worker } from 'node:worker_threads';
import { Failed } from '#kit/errors.ts';
import type { UsageQuestion, UsageRow } from './usage-rows.ts';

export type BackgroundTask =
  | { readonly task: 'usage'; readonly question: UsageQuestion }
  /** Writes the log of changes into the ledger, and forgets calls before this one. */
  | { readonly task: 'tidy'; readonly before: number };

export type BackgroundMessage = BackgroundTask & { readonly id: number };
export type BackgroundAnswer =
  | { readonly id: number; readonly rows: readonly UsageRow[] }
  | { readonly id: number; readonly error: string };

interface Waiting {
  readonly resolve: (rows: readonly UsageRow[]) => void;
  readonly reject: (error: Error) => void;
}

/** What lives long is in SQLite; a heap that may grow does so before it is cleaned. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 };

/**
 * A thread for what would hold the event loop up: sums over the whole ledger, and writing to the disk for good. It starts with
 * the first task.
 */
export class Background {
  readonly #path: string;
  #worker: Worker | null = null;
  #next = 1;
  #waiting = new Map<number, Waiting>();

  /** @param path of the SQLite file, which exists and is migrated */
  constructor(path: string) {
    this.#path = path;
  }

  do(task: BackgroundTask): Promise<readonly UsageRow[]> {
    const worker = this.#started();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ ...task, id } satisfies BackgroundMessage);
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#end(new Failed('thread_ended', 'the ledger was closed'));
    await worker?.terminate();
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const script = new URL('./background-thread.ts', import.meta.url);
    const worker = new Worker(script, { workerData: { path: this.#path }, resourceLimits });
    worker.unref();
    worker.on('message', (answer: BackgroundAnswer) => this.#answered(answer));
    worker.on('error', (error) => this.#end(error));
    worker.on('exit', (code) => this.#end(new Failed('thread_ended', `a thread ended with ${code}`)));
    this.#worker = worker;
    return worker;
  }

  #answered(answer: BackgroundAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('error' in answer) waiting?.reject(new Failed('ledger_unreadable', answer.error));
    else waiting?.resolve(answer.rows);
  }

  /** The next task starts a new one. */
  #end(error: Error): void {
    this.#worker = null;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const { reject } of waiting.values()) reject(error);
  }
}
