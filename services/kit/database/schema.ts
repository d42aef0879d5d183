import type { StoredThing } from '../storage/storage-error.ts';

/** How an engine writes the types of columns. Text is compared by its bytes on both. */
export interface ColumnTypes {
  readonly text: string;
  readonly integer: string;
  readonly bytes: string;
  /** A number that the database gives, rising and never given twice; the primary key. */
  readonly identity: string;
  /** Ends CREATE TABLE, so that both engines refuse a value of another type. */
  readonly strict: string;
}

/** The tables of one service: each is defined once, for both engines. */
export interface Schema extends StoredThing {
  /** Path of its file in the state folder: `agentd.sqlite`. */
  readonly file: string;
  /** Entry n brings the tables from version n to n + 1, in statements that end with a semicolon; entries are only ever added. */
  readonly migrations: readonly ((types: ColumnTypes) => string)[];
  /**
   * The lowest version whose Core may work with the tables as they are now, on another host during an upgrade; default the first.
   * Raised by a migration that takes something away.
   */
  readonly lowestVersion?: number;
  /**
   * Commits to a file do not wait for the disk: they survive the end of the process, and a power cut may cost those of so many
   * milliseconds. Default: each commit is on the disk.
   */
  readonly powerCutMs?: number;
}
