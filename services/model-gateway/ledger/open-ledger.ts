import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { Balances } from './balances.ts';
import { CallIds, dayOf, timeOfCall } from './call-id.ts';
import { CallRows, type EndedCall, unsettled } from './call-rows.ts';
import { CallWriter } from './call-writer.ts';
import { findOpenCalls } from './earlier-open-calls.ts';
import type { Ledger } from './ledger.ts';
import { ledgerKind } from './ledger-tables.ts';
import { moneyOf, type PriceList } from './money.ts';
import { RunKeys } from './run-keys.ts';
import { SqliteLedger } from './sqlite-ledger.ts';

export interface LedgerOptions {
  readonly prices: PriceList;
  /** US dollars that all calls of a day may cost; null is no limit. */
  readonly dayBudget: number | null;
  readonly now?: () => number;
}

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
    const opened = openDatabase(path, ledgerKind, 'normal');
    db = opened;
    const rows = new CallRows(opened);
    const cutOff = closeOpenCalls(opened, rows, folder, now());
    // Who waits for a lock of another process does so beside the event loop.
    opened.exec('PRAGMA busy_timeout = 0');
    const calls = new CallWriter(rows);
    const waiting = (isOf: (call: EndedCall) => boolean) =>
      calls.unwritten.filter(isOf).reduce((sum, { cost }) => sum + cost, 0);
    const balances = new Balances({
      dayBudget: dayBudget === null ? null : moneyOf(dayBudget),
      usedOn: (day) => usedOn(opened, day) + waiting((call) => call.day === day),
      now,
    });
    const waitingOf = (run: string) => waiting(({ open }) => open.account.run === run);
    return new SqliteLedger({
      db: opened,
      path,
      rows,
      calls,
      keys: new RunKeys({ db: opened, balances, now, waitingOf }),
      balances,
      prices,
      ids: new CallIds(rows.last(), now),
      cutOff,
      now,
      release: () => hold.release(),
    });
  } catch (error) {
    db?.close();
    hold.release();
    throw error;
  }
}

/**
 * After an end that was not orderly: calls under way count at what was reserved for them, because nobody can say any more what
 * they used. Returns how many there were.
 * @param now ids may be ahead of it, where a clock was
 */
function closeOpenCalls(db: DatabaseSync, rows: CallRows, folder: string, now: number): number {
  const earlier = findOpenCalls(folder);
  const open = [...rows.underWay(), ...earlier.calls.filter(({ id }) => !rows.has(id))];
  if (open.length > 0)
    rows.end(open.map((call) => unsettled(call, dayOf(Math.min(timeOfCall(call.id), now)))));
  if (earlier.paths.length > 0) {
    // What is in the files goes only when it is on the disk elsewhere.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    for (const path of earlier.paths) rmSync(path, { force: true });
  }
  return open.length;
}

function usedOn(db: DatabaseSync, day: string): number {
  const { used } = db.prepare('SELECT sum(cost) AS used FROM totals WHERE day = ?').get(day) as {
    used: number | null;
  };
  return used ?? 0;
}
