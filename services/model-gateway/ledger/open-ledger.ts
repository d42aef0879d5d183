import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { holdFolder } from '#kit/storage/lock.ts';
import { Background } from './background.ts';
import { Balances } from './balances.ts';
import { CallIds } from './call-id.ts';
import { CallRows, type EndedCall } from './call-rows.ts';
import { GroupCommit } from './group-commit.ts';
import type { Ledger } from './ledger.ts';
import { migrate } from './ledger-tables.ts';
import { LogSync, syncLog } from './log-sync.ts';
import { moneyOf, type PriceList } from './money.ts';
import { findOpenCalls, OpenCallsLog } from './open-calls-log.ts';
import { closeOpenCalls, lastCall } from './recovery.ts';
import { RunKeys } from './run-keys.ts';
import { SqliteLedger } from './sqlite-ledger.ts';
import { cannotOpen } from './storage-error.ts';

export interface LedgerOptions {
  readonly prices: PriceList;
  /** US dollars that all calls of a day may cost; null is no limit. */
  readonly dayBudget: number | null;
  readonly now?: () => number;
}

/** So long, in milliseconds, the event loop waits for a ledger that another process has locked, before it does so beside it. */
const lockedMs = 10;

export function ledgerFolder(state: string): string {
  return join(state, 'model-gateway');
}

/**
 * Opens `<state>/model-gateway/ledger.sqlite` for this process alone, and makes it where it is missing. Calls that the last end
 * of the gateway cut off are counted at what was reserved for them.
 * @throws Conflict (`ledger_held`), Failed (`ledger_damaged`, `ledger_newer`), Unavailable (`disk_full`)
 */
export function openLedger(state: string, { prices, dayBudget, now = Date.now }: LedgerOptions): Ledger {
  const folder = ledgerFolder(state);
  const hold = holdFolder(folder, { code: 'ledger_held', name: 'the ledger' });
  const path = join(folder, 'ledger.sqlite');
  let db: DatabaseSync | null = null;
  try {
    db = openDatabase(path);
    const opened = db;
    const rows = new CallRows(db);
    const left = findOpenCalls(folder);
    const cutOff = closeOpenCalls(db, rows, left.calls, now());
    removeParts(left.paths, path);
    const open = new Set<number>();
    const ids = new CallIds(lastCall(db), now);
    const oldest = () => open.values().next().value ?? ids.last + 1;
    const openCalls = new OpenCallsLog(folder, left.next);
    const commits = new GroupCommit(rows, openCalls, oldest);
    const waiting = (isOf: (call: EndedCall) => boolean) =>
      commits.ended.filter(isOf).reduce((sum, { cost }) => sum + cost, 0);
    const balances = new Balances({
      dayBudget: dayBudget === null ? null : moneyOf(dayBudget),
      usedOn: (day) => usedOn(opened, day) + waiting((call) => call.day === day),
      now,
    });
    db.exec(`PRAGMA busy_timeout = ${lockedMs}`);
    return new SqliteLedger({
      keys: new RunKeys({
        db,
        balances,
        now,
        waitingOf: (run) => waiting(({ open }) => open.account.run === run),
      }),
      balances,
      prices,
      ids,
      open,
      commits,
      openCalls,
      background: new Background(path),
      log: new LogSync(path),
      cutOff,
      now,
      close() {
        opened.close();
        hold.release();
      },
    });
  } catch (error) {
    db?.close();
    hold.release();
    throw cannotOpen(error, path);
  }
}

/** Only when what was in them is on the disk elsewhere. */
function removeParts(parts: readonly string[], path: string): void {
  if (parts.length === 0) return;
  syncLog(path);
  for (const part of parts) rmSync(part, { force: true });
}

/**
 * A commit survives the end of the process, however it ends; a power cut may cost those of the last second. Nobody waits for
 * the disk: the log is brought there, and into the ledger, beside the event loop.
 */
function openDatabase(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    migrate(db);
    db.exec('PRAGMA wal_autocheckpoint = 0');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function usedOn(db: DatabaseSync, day: string): number {
  const { used } = db.prepare('SELECT sum(cost) AS used FROM totals WHERE day = ?').get(day) as {
    used: number | null;
  };
  return used ?? 0;
}
