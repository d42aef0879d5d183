import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { guarded } from '#kit/callbacks.ts';
import { CoreError, messageOf, Unavailable } from '#kit/errors.ts';
import { isDiskFull, sqliteCode, sqliteCodes } from '#kit/storage/storage-error.ts';
import { WriteBatch } from '#kit/storage/write-batch.ts';
import type { EndedCall, LedgerTables, OpenCall } from './tables.ts';

const retryMs = 1_000;

/**
 * Writes each call before it is made, and its end as soon as it is known. Ends that cannot be written are kept in memory and
 * tried again.
 */
export class CallWriter {
  readonly #tables: LedgerTables;
  readonly #batch: WriteBatch;
  readonly #unwritten = new Set<EndedCall>();
  /** Of these, what the transaction under way has written; null before its first write. */
  #ending: readonly EndedCall[] | null = null;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  /** Why nothing can be written; null when it can. A lock of another process counts only when it lasts. */
  problem: unknown = null;
  /** How often something was written. */
  writes = 0;

  constructor(db: DatabaseSync, tables: LedgerTables) {
    this.#tables = tables;
    this.#batch = new WriteBatch(db, {
      begin: () => {
        this.#ending = null;
      },
      committed: () => {
        this.writes++;
        for (const call of this.#ending ?? []) this.#unwritten.delete(call);
      },
      explain: (error) => error,
    });
  }

  /** Resolves when the call is on record. Rejects with what SQLite says. */
  async open(call: OpenCall): Promise<void> {
    await this.#write(() => this.#tables.open(call));
  }

  /** More is set aside for a call under way. @throws what SQLite says */
  raise(call: Pick<OpenCall, 'id' | 'reserved'>): void {
    this.#tables.raise(call);
    this.writes++;
  }

  end(call: EndedCall): void {
    this.#unwritten.add(call);
    this.flush().catch(() => {});
  }

  /** Calls that ended and are not in the ledger yet. */
  get unwritten(): readonly EndedCall[] {
    return [...this.#unwritten];
  }

  /** Writes what waits. Rejects with what SQLite says. */
  async flush(): Promise<void> {
    if (this.#unwritten.size > 0) await this.#write(() => {});
  }

  /** After the last call of `flush`. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  /** Together with the ends that wait: a ledger that takes no ends takes no beginnings. An end written twice counts once. */
  async #write(work: () => void): Promise<void> {
    try {
      await whenFree(() =>
        this.#batch.write(() => {
          this.#endAll();
          work();
        }),
      );
      this.problem = null;
    } catch (error) {
      this.problem = error;
      this.#tryLater();
      throw error;
    }
  }

  /** Once for each transaction, which many writes share. */
  #endAll(): void {
    if (this.#ending !== null) return;
    const ending = this.unwritten;
    for (const call of ending) this.#tables.end(call);
    this.#ending = ending;
  }

  /** Perhaps nobody asks again, and health has to report when it is over. */
  #tryLater(): void {
    if (this.#closed) return;
    this.#retry ??= setTimeout(
      guarded('the ledger', () => {
        this.#retry = undefined;
        this.#write(() => this.#tables.probe()).catch(() => {});
      }),
      retryMs,
    ).unref();
  }
}

/** Milliseconds for which a lock of another process is waited for. */
const lockedMs = 5_000;
const againMs = 20;

/** Tries again while another process has the ledger locked, without blocking the event loop. @throws what `write` throws */
export async function whenFree<T>(write: () => T | Promise<T>): Promise<T> {
  const until = performance.now() + lockedMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isLocked(error) || performance.now() >= until) throw error;
    }
    await delay(againMs);
  }
}

function isLocked(error: unknown): boolean {
  const code = sqliteCode(error instanceof CoreError ? error.cause : error);
  return code === sqliteCodes.busy || code === sqliteCodes.locked;
}

/**
 * What cannot be recorded is not spent: the caller may try again.
 * @param what cannot be done, where it is no call
 */
export function notRecorded(
  error: unknown,
  what = 'the call cannot be put on record, so it is not made',
): CoreError {
  if (error instanceof CoreError) return error;
  const [why, hint] = isLocked(error)
    ? ['another process has the ledger locked', 'End what has ledger.sqlite of the state folder open']
    : isDiskFull(error)
      ? ['its disk is full', 'Make room on the disk of the state folder']
      : [messageOf(error), 'See that the state folder can be written'];
  const options = { cause: error, retryAfter: 5, hint: `${hint}; the gateway goes on by itself.` };
  return new Unavailable('ledger_unavailable', `${what}: ${why}`, options);
}
