import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writeFileDurably } from '#kit/durable-file.ts';
import { Conflict } from '#kit/errors.ts';
import { sqliteCode, sqliteCodes } from '#kit/sqlite-error.ts';
import { thisProcess } from '#kit/sqlite-lease-holder.ts';

/** A gateway that is ending gets so long, in milliseconds. */
const patienceMs = 2_000;

/**
 * The right to be the one process that spends from a ledger. The operating system keeps the lock, through SQLite, on a file of
 * its own, so that it ends with its process and a full disk takes it from nobody. Who holds it stands beside it, for people.
 * @throws Conflict (`ledger_held`)
 */
export function holdLedger(folder: string): { release(): void } {
  const lock = new DatabaseSync(join(folder, 'holder.lock'), { timeout: patienceMs });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    if (sqliteCode(cause) !== sqliteCodes.busy) throw cause;
    throw new Conflict('ledger_held', `the ledger in ${folder} is held by ${holderIn(folder)}`, {
      cause,
      facts: { folder },
      hint: 'End that process, or give this one another folder with --home DIR.',
    });
  }
  tellHolder(folder);
  return { release: () => lock.close() };
}

function tellHolder(folder: string): void {
  const { pid, host } = thisProcess();
  try {
    writeFileDurably(join(folder, 'holder.txt'), `process ${pid} on ${host}\n`);
  } catch {
    // A full disk: the lock holds without its name.
  }
}

function holderIn(folder: string): string {
  try {
    return readFileSync(join(folder, 'holder.txt'), 'utf8').trim();
  } catch {
    return 'another process';
  }
}
