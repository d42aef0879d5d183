import { backup, DatabaseSync } from 'node:sqlite';
import { CoreError, Failed, messageOf } from '#kit/errors.ts';
import { isSqliteDamage } from '#kit/storage/sqlite-error.ts';

const busyMs = 5_000;
const pagesAtOnce = 1_000;

/** A database of a service that may be at work; it is read as it was when it was pinned. */
export class SqliteStore {
  /** Below the root, as in `context/record.sqlite`. */
  readonly name: string;
  readonly path: string;
  readonly #db: DatabaseSync;

  /** @throws Failed (`backup_store_damaged`) */
  constructor(name: string, path: string) {
    this.name = name;
    this.path = path;
    this.#db = this.#checked(() => new DatabaseSync(path, { timeout: busyMs }));
    this.#checked(() => this.#db.exec('PRAGMA query_only = ON'));
  }

  /** From here on it is seen as it is now. Nobody has to wait for that. */
  pin(): void {
    this.#checked(() => {
      this.#db.exec('BEGIN');
      this.#db.prepare('SELECT count(*) FROM sqlite_schema').get();
    });
  }

  /**
   * Copies what was pinned into a new file, and reads every page of the copy.
   * @throws Failed (`backup_store_damaged`)
   */
  async copyTo(target: string): Promise<void> {
    try {
      await backup(this.#db, target, { rate: pagesAtOnce });
    } catch (error) {
      throw this.#explained(error);
    }
    const copy = this.#checked(() => new DatabaseSync(target));
    try {
      const found = this.#checked(() => copy.prepare('PRAGMA quick_check(1)').all());
      const [first] = found as { quick_check: string }[];
      if (first?.quick_check !== 'ok') throw this.#damaged(first?.quick_check ?? 'it cannot be checked');
      // One file, without a log beside it; whoever opens it chooses again.
      copy.exec('PRAGMA journal_mode = DELETE');
    } finally {
      copy.close();
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #checked<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #explained(error: unknown): unknown {
    if (error instanceof CoreError || !isSqliteDamage(error)) return error;
    return this.#damaged(messageOf(error), error);
  }

  #damaged(what: string, cause?: unknown): Failed {
    return new Failed('backup_store_damaged', `${this.path} is damaged: ${what}`, {
      cause,
      facts: { path: this.path },
      hint: 'A backup of it would be none. Start the service that it belongs to, which says what it can save of it, then back up again.',
    });
  }
}
