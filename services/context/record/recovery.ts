import { constants, copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import * as t from 'io-ts';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson, nullable } from '#kit/decode.ts';
import { syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { migrate } from '#kit/storage/database.ts';
import { openForWriting, recordThing } from './connection.ts';
import { GraphRecord } from './graph-record.ts';
import { type SalvagedTable, salvage } from './salvage.ts';

/** What those who keep something in the record do after a damage. */
export interface RestoreSteps {
  /** Adds the rows without which others that came over would be orphans. */
  keepRows(db: DatabaseSync): void;
  /** Makes everything again that is made from other rows; in a transaction. */
  rebuild(record: GraphRecord): void;
}

export interface RecordContents {
  /** See kit/storage/database.ts. */
  readonly versions: readonly string[];
  readonly restoreSteps: RestoreSteps;
}

/** A record that was damaged, and what of it came over. */
export const Recovery = t.strict({
  at: t.string,
  reason: t.string,
  /** Path of the damaged file; removing it says that nobody needs it any more. */
  set_aside: t.string,
  tables: t.array(t.strict({ name: t.string, rows: t.number, whole: t.boolean })),
});
export type Recovery = t.TypeOf<typeof Recovery>;

const Damage = t.strict({ at: t.string, reason: t.string, set_aside: nullable(t.string) });
type Damage = t.TypeOf<typeof Damage>;

/** Says, from a running service, that the next opening must not trust the record. */
export function noteDamage(folder: string, reason: string): void {
  if (readDamage(folder) === null)
    writeDamage(folder, { at: new Date().toISOString(), reason, set_aside: null });
}

/** What a running service found and nobody has dealt with yet. */
export function notedDamage(folder: string): string | null {
  const damage = readDamage(folder);
  return damage === null || damage.set_aside !== null ? null : damage.reason;
}

/** The record that was damaged is replaced by one that is whole. */
export function forgetDamage(folder: string): void {
  if (notedDamage(folder) !== null) rmSync(damagePath(folder));
}

/** Decides under which name the damaged files are kept. `finishRecovery` does the rest. */
export function setAside(folder: string, reason: string): void {
  const at = new Date().toISOString();
  writeDamage(folder, { at, reason, set_aside: `record.sqlite.corrupt-${at.replaceAll(/[:.]/g, '-')}` });
  crashPoint('record_damage_noted');
}

/** Goes on where it stopped, after a crash too. @returns whether there was something to do */
export function finishRecovery(folder: string, contents: RecordContents): boolean {
  const damage = readDamage(folder);
  if (damage === null || damage.set_aside === null) return false;
  const aside = join(folder, damage.set_aside);
  const record = join(folder, 'record.sqlite');
  const done = existsSync(aside) && existsSync(record);
  const tables = done ? [] : remakeRecord(folder, record, aside, contents);
  crashPoint('record_remade');
  const { at, reason } = damage;
  const recovery: Recovery = { at, reason, set_aside: aside, tables };
  writeFileDurably(join(folder, 'recovery.json'), `${JSON.stringify(recovery, null, 2)}\n`);
  rmSync(damagePath(folder));
  syncFolder(folder);
  return true;
}

/** null once the file that was set aside is gone. */
export function readRecovery(folder: string): Recovery | null {
  const recovery = readJson(Recovery, join(folder, 'recovery.json'));
  return recovery !== null && existsSync(recovery.set_aside) ? recovery : null;
}

function writeDamage(folder: string, damage: Damage): void {
  writeFileDurably(damagePath(folder), `${JSON.stringify(damage)}\n`);
}

function readDamage(folder: string): Damage | null {
  return readJson(Damage, damagePath(folder));
}

function damagePath(folder: string): string {
  return join(folder, 'damage.json');
}

function readJson<A>(codec: t.Type<A, unknown, unknown>, path: string): A | null {
  if (!existsSync(path)) return null;
  return decodeJson(codec, readFileSync(path, 'utf8'), path);
}

/** Main file last: while it lies in its place, nothing was taken from it. */
const suffixes = ['-wal', '-shm', ''] as const;

/** Moves a damaged record aside and makes one in its place from what can be read of it. @returns what came over */
function remakeRecord(
  folder: string,
  record: string,
  aside: string,
  contents: RecordContents,
): SalvagedTable[] {
  for (const suffix of suffixes) {
    if (existsSync(`${record}${suffix}`)) renameSync(`${record}${suffix}`, `${aside}${suffix}`);
  }
  syncFolder(folder);
  crashPoint('record_set_aside');
  const fresh = join(folder, 'record.sqlite.new');
  const copy = join(folder, 'record.sqlite.copy');
  removeDatabase(fresh);
  removeDatabase(copy);
  try {
    for (const suffix of ['', '-wal']) {
      if (existsSync(`${aside}${suffix}`))
        copyFileSync(`${aside}${suffix}`, `${copy}${suffix}`, constants.COPYFILE_FICLONE);
    }
    const tables = fill(fresh, copy, contents);
    crashPoint('record_salvaged');
    renameSync(fresh, record);
    syncFolder(folder);
    return tables;
  } finally {
    removeDatabase(copy);
  }
}

function fill(fresh: string, copy: string, { versions, restoreSteps }: RecordContents): SalvagedTable[] {
  const db = openForWriting(fresh);
  try {
    migrate(db, { ...recordThing, migrations: versions });
    const tables = salvage(copy, db, restoreSteps.keepRows);
    const record = new GraphRecord(db);
    db.exec('BEGIN');
    restoreSteps.rebuild(record);
    db.exec('COMMIT');
    return tables;
  } finally {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
  }
}

function removeDatabase(path: string): void {
  for (const suffix of suffixes) rmSync(`${path}${suffix}`, { force: true });
}
