import type { DatabaseSync } from 'node:sqlite';
import { guarded } from '../callbacks.ts';
import { CoreError } from '../errors.ts';
import { transaction } from './database.ts';

interface Waiting {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriteBatchOptions {
  /** Called before each transaction. */
  readonly begin?: () => void;
  /** Called after each commit, before anybody learns of it. */
  readonly committed?: () => void;
  /** Turns what SQLite throws into an error for callers. */
  readonly explain: (error: unknown) => unknown;
}

/** Writes per commit, so that other work runs between large batches. */
const maxWrites = 500;

/** Writes that arrive in the same tick of the event loop share one commit. */
export class WriteBatch {
  readonly #db: DatabaseSync;
  readonly #options: WriteBatchOptions;
  #waiting: Waiting[] = [];
  /** Why the last commit failed; null after one that succeeded. */
  problem: unknown = null;

  constructor(db: DatabaseSync, options: WriteBatchOptions) {
    this.#db = db;
    this.#options = options;
  }

  /**
   * Resolves with the result of `work` when its commit is done.
   * @param work must throw a CoreError before it writes anything: that rejects this write alone. Any other error rolls back
   *   and rejects the whole batch
   */
  write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (this.#waiting.length === 1) setImmediate(guarded('a batch of writes', () => this.#commit()));
    });
  }

  #commit(): void {
    const batch = this.#waiting.slice(0, maxWrites);
    this.#waiting = this.#waiting.slice(maxWrites);
    if (this.#waiting.length > 0) setImmediate(guarded('a batch of writes', () => this.#commit()));
    let settle: (() => void)[];
    try {
      this.#options.begin?.();
      settle = transaction(this.#db, () => batch.map(perform));
      this.problem = null;
    } catch (error) {
      this.problem = error;
      const explained = this.#options.explain(error);
      for (const { reject } of batch) reject(explained);
      return;
    }
    this.#options.committed?.();
    for (const done of settle) done();
  }
}

function perform({ work, resolve, reject }: Waiting): () => void {
  try {
    const value = work();
    return () => resolve(value);
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return () => reject(error);
  }
}
