import { constants, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { syncFolder } from '#kit/durable-file.ts';
import { migrate } from '#kit/storage/database.ts';
import { openForWriting } from './connection.ts';
import type { RecordContents } from './contents.ts';
import { GraphRecord } from './graph-record.ts';
import { recordThing } from './record-path.ts';
import { type SalvagedTable, salvage } from './salvage.ts';

/** Main file last: while it lies in its place, nothing was taken from it. */
const suffixes = ['-wal', '-shm', ''] as const;

/** Moves a damaged record aside and makes one in its place from what can be read of it. @returns what came over */
export function remakeRecord(
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
  const steps = restoreSteps();
  const db = openForWriting(fresh);
  try {
    migrate(db, { ...recordThing, migrations: versions });
    const tables = salvage(copy, db, steps);
    const record = new GraphRecord(db);
    db.exec('BEGIN');
    steps.rebuild(record);
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
