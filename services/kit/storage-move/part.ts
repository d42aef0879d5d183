import type { StorageKind } from '../config/storage.ts';
import type { Database, Sql } from '../database/database.ts';
import { noSignals } from '../database/signals.ts';
import { Conflict, Failed } from '../errors.ts';
import type { Folders } from '../folders.ts';

export interface MoveOptions {
  readonly folders: Folders;
  readonly to: StorageKind;
  /** Opened for the move. On the way to files, everything in one transaction, in which others write nothing. */
  readonly database: Database;
}

/** What both sides hold of one kind of record, once they hold the same. */
export interface Compared {
  readonly entries: number;
  /** Of all entries in order, each as canonical text. */
  readonly sha256: string;
}

/**
 * One kind of record, which a service keeps in files and in a database. While it is open nobody else writes the files.
 * What the target holds already is how far an earlier move came.
 */
export interface MovePart {
  /** For people, as in "runs". */
  readonly name: string;
  /** Entries of the source. */
  count(): Promise<number>;
  /** Ends what nobody works on any more, and refuses what cannot be moved whole. */
  prepare(): Promise<void>;
  /** Makes the target hold what the source holds. @param done called with how many entries were dealt with */
  copy(done: (entries: number) => void): Promise<void>;
  /** @throws Failed (`storage_move_differs`) naming what one side holds and the other does not */
  compare(done: (entries: number) => void): Promise<Compared>;
  /** What is there on the side of files, without a note of whose it is: must be nothing before others' records are put there. */
  foreignFiles(): Promise<string | null>;
  close(): Promise<void>;
}

/** What `services/<service>/move-storage.ts` exports. @throws Conflict naming who uses the files */
export type OpenMoveParts = (options: MoveOptions) => Promise<MovePart[]>;

/** Everything in the transaction of `sql`, which its owner ends. */
export function withinTransaction({ name, statementMs }: Database, sql: Sql): Database {
  const transaction: Database['transaction'] = (work) => work(sql);
  const { engine, query } = sql;
  return {
    engine,
    name,
    statementMs,
    query,
    transaction,
    write: query,
    signals: noSignals,
    close: async () => {},
  };
}

export function inUse(what: string, hint: string): Conflict {
  return new Conflict('storage_in_use', what, { hint });
}

export function differs(name: string, what: string): Failed {
  return new Failed('storage_move_differs', `${name}: ${what}`, {
    facts: { records: name },
    hint: 'Nothing was switched over: what was in use before is in use still. Run the command again.',
  });
}
