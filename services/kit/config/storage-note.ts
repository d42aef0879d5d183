import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, oneOf, Timestamp } from '../decode.ts';
import { makePrivateFolder, writeFileDurably } from '../durable-file.ts';
import { Conflict } from '../errors.ts';
import { readSmallFile } from '../small-file.ts';

/** `<state>/storage.json`, there since a move between files and a database was begun. */
const StorageNote = t.strict({
  /** Of this state folder, for good: a database knows by it whose move it holds. */
  installation: t.string,
  /** Where what was moved is now; `files` also while a move to a database has not come to its end. */
  kind: oneOf(['files', 'postgres']),
  /** For people, without a password. */
  database: t.string,
  at: Timestamp,
});
export type StorageNote = t.TypeOf<typeof StorageNote>;

function pathIn(state: string): string {
  return join(state, 'storage.json');
}

/** null where nothing was ever moved. */
export function readStorageNote(state: string): StorageNote | null {
  const path = pathIn(state);
  return existsSync(path) ? decodeJson(StorageNote, readSmallFile(path), path) : null;
}

/** With the time of now. */
export function writeStorageNote(state: string, facts: Omit<StorageNote, 'at'>): void {
  const note: StorageNote = { ...facts, at: new Date().toISOString() };
  makePrivateFolder(state);
  writeFileDurably(pathIn(state), `${JSON.stringify(note, null, 2)}\n`);
}

/** @throws Conflict (`storage_moved`) where the files of this folder are only what was left behind */
export function requireFilesInUse(state: string): void {
  const note = readStorageNote(state);
  if (note === null || note.kind === 'files') return;
  const { database, at } = note;
  throw new Conflict(
    'storage_moved',
    `what was in ${state} moved to ${database} on ${at}; core.json says files`,
    {
      facts: { state, database, at },
      hint: `Set storage.kind to postgres in core.json; or finish the move with ./core storage migrate --to postgres. If that database is lost for good, restore a backup of it; ${pathIn(state)} says that these files are older.`,
    },
  );
}
