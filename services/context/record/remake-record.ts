import { constants, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { syncFolder } from '#kit/durable-file.ts';
import { rebuildMemoryIndex } from '../memory/rebuild-index.ts';
import { openForWriting } from './connection.ts';
import { GraphRecord } from './graph-record.ts';
import { rebuildTexts } from './rebuild-text.ts';
import { remakeGraph } from './remake-graph.ts';
import { type SalvagedTable, salvage } from './salvage.ts';
import { migrate } from './schema.ts';

/** Main file last: while it lies in its place, nothing was taken from it. */
const suffixes = ['-wal', '-shm', ''] as const;

/** Moves a damaged record aside and makes one in its place from what can be read of it. @returns what came over */
export function remakeRecord(folder: string, record: string, aside: string): SalvagedTable[] {
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
    const tables = fill(fresh, copy);
    crashPoint('record_salvaged');
    renameSync(fresh, record);
    syncFolder(folder);
    return tables;
  } finally {
    removeDatabase(copy);
  }
}

function fill(fresh: string, copy: string): SalvagedTable[] {
  const db = openForWriting(fresh);
  try {
    migrate(db);
    const tables = salvage(copy, db);
    const record = new GraphRecord(db);
    db.exec('BEGIN');
    remakeGraph(record);
    // Its index keeps no text; without this note the next refresh reads it again.
    db.exec('DELETE FROM learned_histories');
    rebuildMemoryIndex(record, null);
    rebuildTexts(record, { after: 0, milliseconds: Number.POSITIVE_INFINITY });
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
