import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { CoreError, Failed, messageOf, Unavailable } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { isSqliteDamage, sqliteCode, sqliteCodes } from '#kit/storage/storage-error.ts';
import {
  type BackupScope,
  type CapturedTree,
  capture,
  disposable,
  emptyTree,
  mirrors,
  namesIn,
} from './state-folder.ts';

const patienceMs = 10_000;

/**
 * Runs short, synchronous work while no process appends to a run. The work must end before processes that wait for the lock give up.
 * @param path database of the runs; if it does not exist, no run was ever written
 * @throws Unavailable (`lock_busy`), Failed (`backup_store_damaged`, `backup_unreadable`)
 */
function whileNoRunChanges<T>(path: string, work: () => T): T {
  if (!existsSync(path)) return work();
  const db = openLocked(path);
  try {
    return work();
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
    db.close();
  }
}

function openLocked(path: string): DatabaseSync {
  for (;;) {
    const before = inodeOf(path);
    const db = new DatabaseSync(path, { timeout: patienceMs });
    try {
      db.exec('BEGIN IMMEDIATE');
      // A lock on a file that was replaced meanwhile would protect nothing.
      if (before !== null && inodeOf(path) === before) return db;
      db.close();
    } catch (error) {
      db.close();
      throw explained(error, path);
    }
  }
}

function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

function explained(cause: unknown, path: string): unknown {
  if (sqliteCode(cause) === sqliteCodes.busy) {
    return new Unavailable('lock_busy', `another process holds ${path}`, { cause, facts: { path } });
  }
  if (sqliteCode(cause) === sqliteCodes.readOnly || sqliteCode(cause) === sqliteCodes.cannotOpen) {
    return new Failed('backup_unreadable', `${path} cannot be locked: ${messageOf(cause)}`, {
      cause,
      facts: { path },
      hint: 'Run it as the user that Core runs as, with the state folder writable: its lock holds the runs still for a moment.',
    });
  }
  if (!isSqliteDamage(cause)) return cause;
  return storeDamaged(path, messageOf(cause), cause);
}

function storeDamaged(path: string, what: string, cause?: unknown): Failed {
  return new Failed('backup_store_damaged', `${path} is damaged: ${what}`, {
    cause,
    facts: { path },
    hint: 'It cannot be backed up in this state. Start the service that it belongs to, which reports what it can save, then back up again.',
  });
}

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
      // Makes the copy a single file without a log. The next process that opens it sets its own mode.
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
    return storeDamaged(this.path, what, cause);
  }
}

/** The installation at one moment. */
export interface Snapshot {
  readonly at: Date;
  readonly tree: CapturedTree;
  /** Pinned; to be closed. */
  readonly stores: readonly SqliteStore[];
  /** Bytes of the log of each run; -1 for one of which only a tombstone is left. */
  readonly logs: ReadonlyMap<string, number>;
}

/** Database of core-agentd. */
export const runsFile = 'agentd.sqlite';
/** The queue of deliveries must not list as delivered what its receiver has not got, so it is pinned before all others. */
const outbox = 'context-outbox.sqlite';
/** Others wait for ten seconds before they give up an append. */
const captureMs = 2_000;

/**
 * Takes the snapshot while no run changes, which takes milliseconds. Whatever a service did because of a run, the run says so already;
 * whatever a run says that a service did, the service has done. So no store shows a later state than another knows the cause of.
 */
export function takeSnapshot(folders: Folders, options: BackupScope): Snapshot {
  const stores: SqliteStore[] = [];
  const pin = (name: string, path: string) => {
    const store = new SqliteStore(name, path);
    stores.push(store);
    store.pin();
  };
  try {
    return whileNoRunChanges(join(folders.state, runsFile), () => {
      const at = new Date();
      // A run created meanwhile is not acknowledged before the lock is free.
      const logs = logSizes(join(folders.state, 'runs'));
      if (existsSync(join(folders.state, outbox))) pin(`state/${outbox}`, join(folders.state, outbox));
      const tree = captureAll(folders, options);
      // Calls that a log lists as open were read above: those that end before this are in the ledger then.
      for (const { name, path } of tree.stores) if (name !== `state/${outbox}`) pin(name, path);
      return { at, tree, stores, logs };
    });
  } catch (error) {
    for (const store of stores) store.close();
    throw error;
  }
}

function captureAll(folders: Folders, { withSecrets, withMirrors }: BackupScope): CapturedTree {
  const tree = emptyTree();
  const deadline = performance.now() + captureMs;
  const without = [...disposable, ...(withMirrors ? [] : [mirrors])].map(({ path }) => path);
  capture(tree, 'state', folders.state, {
    without: [...without, 'runs'],
    followLinks: false,
    deadline,
  });
  const kept = withSecrets ? [] : ['secrets', 'tokens'];
  capture(tree, 'config', folders.config, { without: kept, followLinks: true, deadline });
  return tree;
}

function logSizes(runs: string): Map<string, number> {
  const names = (namesIn(runs) ?? []).filter((name) => name.startsWith('run_')).toSorted();
  return new Map(
    names.map((name) => {
      const stats = statSync(join(runs, name, 'events.jsonl'), { throwIfNoEntry: false });
      return [name, stats?.isFile() === true ? stats.size : -1];
    }),
  );
}
