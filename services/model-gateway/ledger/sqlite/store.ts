import { closeSync, fdatasync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { guarded } from '#kit/callbacks.ts';
import type { UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import type { CoreError } from '#kit/errors.ts';
import { openDatabase, transaction } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import type { Money } from '../money.ts';
import type { CallEnd, LedgerStore, NewCall, OpenedCall, UsageQuestion } from '../store.ts';
import { Balances, type Hold } from './balances.ts';
import { CallWriter, notRecorded } from './call-writer.ts';
import { SqliteRunKeys } from './run-keys.ts';
import { CallIds, type EndedCall, LedgerTables, ledgerKind, type OpenCall } from './tables.ts';

export function ledgerFolder(state: string): string {
  return join(state, 'model-gateway');
}

/**
 * Opens `<state>/model-gateway/ledger.sqlite` for this process alone, and makes it where it is missing. Calls that the last end
 * of the gateway cut off are counted at what was reserved for them.
 * @throws Conflict (`ledger_held`), Failed (`ledger_damaged`, `ledger_newer`), Unavailable (`disk_full`)
 */
export function openSqliteStore(state: string, now: () => number = Date.now): SqliteStore {
  const folder = ledgerFolder(state);
  const hold = holdFolder(folder, { code: 'ledger_held', name: 'the ledger' });
  const path = join(folder, 'ledger.sqlite');
  let db: DatabaseSync | null = null;
  try {
    db = openDatabase(path, ledgerKind, 'normal');
    return new SqliteStore({ db, path, now, release: () => hold.release() });
  } catch (error) {
    db?.close();
    hold.release();
    throw error;
  }
}

/** Milliseconds for which single calls are kept; what they came to is kept for good. */
const keptMs = 90 * 86_400_000;
const tidyMs = 10_000;
/** What a power cut can cost. */
const syncMs = 1_000;

/** A ledger in SQLite, held by this process alone. */
export class SqliteStore implements LedgerStore {
  readonly keys: SqliteRunKeys;
  readonly cutOff: number;
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #now: () => number;
  readonly #release: () => void;
  readonly #tables: LedgerTables;
  readonly #calls: CallWriter;
  readonly #balances: Balances;
  readonly #ids: CallIds;
  readonly #timers: readonly NodeJS.Timeout[];
  #synced = 0;
  #syncing: Promise<void> | null = null;

  constructor(parts: {
    readonly db: DatabaseSync;
    readonly path: string;
    readonly now: () => number;
    /** Gives the folder to the next process. */
    readonly release: () => void;
  }) {
    const { db, path, now, release } = parts;
    this.#db = db;
    this.#path = path;
    this.#now = now;
    this.#release = release;
    const tables = new LedgerTables(db);
    this.#tables = tables;
    this.cutOff = transaction(db, () => tables.settleCutOff(now()));
    // A lock of another process is waited for beside the event loop.
    db.exec('PRAGMA busy_timeout = 0');
    const calls = new CallWriter(db, tables);
    this.#calls = calls;
    const waiting = (isOf: (call: EndedCall) => boolean) =>
      calls.unwritten.filter(isOf).reduce((sum, { cost }) => sum + cost, 0);
    this.#balances = new Balances({
      usedOn: (day) => tables.usedOn(day) + waiting((call) => call.day === day),
      now,
    });
    this.keys = new SqliteRunKeys({
      db,
      balances: this.#balances,
      now,
      usedBy: (run) => tables.usedBy(run) + waiting((call) => call.run === run),
    });
    this.#ids = new CallIds(tables.last(), now);
    this.#timers = [
      setInterval(
        guarded('the ledger', () => this.#sync()),
        syncMs,
      ).unref(),
      setInterval(
        guarded('the ledger', () => this.#tidy()),
        tidyMs,
      ).unref(),
    ];
  }

  async open(asked: NewCall): Promise<OpenedCall> {
    const { account, reserved } = asked;
    this.keys.check(account);
    const hold = this.#balances.hold(account, reserved);
    const call: OpenCall = { ...asked, id: this.#ids.next() };
    try {
      await this.#calls.open(call);
    } catch (error) {
      hold.use(0);
      throw notRecorded(error);
    }
    return {
      bounded: this.#balances.bind(account),
      check: async (needed) => this.#check(call, hold, needed),
      end: (end) => this.#end(call, hold, end),
    };
  }

  limitDay(budget: Money | null): void {
    this.#balances.limitDay(budget);
  }

  async usage(question: UsageQuestion): Promise<readonly UsageLine[]> {
    try {
      await this.#calls.flush();
    } catch (error) {
      throw notRecorded(error, 'usage cannot be reported before calls that ended are on record');
    }
    return this.#tables.usage(question);
  }

  async problem(): Promise<CoreError | null> {
    const { problem } = this.#calls;
    return problem === null ? null : notRecorded(problem);
  }

  /** Records what is left to record, and releases the folder. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    try {
      await this.#calls.flush();
    } finally {
      this.#calls.close();
      await this.#syncing;
      // The last one to close writes the log into the ledger, and syncs it.
      this.#db.close();
      this.#release();
    }
  }

  #check({ id, account, reserved: first }: OpenCall, hold: Hold, reserved: Money): void {
    this.keys.check(account);
    if (reserved === first) return;
    hold.raise(reserved);
    try {
      this.#calls.raise({ id, reserved });
    } catch (error) {
      throw notRecorded(error);
    }
  }

  #end({ id, account: { run } }: OpenCall, hold: Hold, end: CallEnd): void {
    this.#calls.end({ ...end, id, run, day: hold.day });
    hold.use(end.cost);
  }

  /**
   * A commit survives the end of the process, however it ends. Off the event loop the log of changes is brought to the disk, so
   * that a power cut costs moments. The log is the one file of a database that SQLite holds no lock on: to close another of its
   * files here would let go of the locks of the whole process.
   */
  #sync(): void {
    const { writes } = this.#calls;
    if (this.#syncing !== null || writes === this.#synced) return;
    this.#syncing = syncFile(`${this.#path}-wal`).then((isSynced) => {
      if (isSynced) this.#synced = writes;
      this.#syncing = null;
    });
  }

  #tidy(): void {
    this.keys.forgetExpired();
    if (this.#calls.problem !== null) return;
    try {
      this.#tables.forget(this.#now() - keptMs);
    } catch {
      // The next turn tries again.
    }
  }
}

/** False where it could not be done. */
async function syncFile(path: string): Promise<boolean> {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch {
    // Without a log nothing was written since the last checkpoint.
    return false;
  }
  const problem = await new Promise((resolve) => fdatasync(file, resolve));
  closeSync(file);
  return problem === null;
}
