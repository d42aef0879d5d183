import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { changeConcern } from '#kit/config/change-concern.ts';
import { isObject } from '#kit/config/merge.ts';
import { Settings } from '#kit/config/settings.ts';
import { type PostgresSettings, readStorage, type Storage, type StorageKind } from '#kit/config/storage.ts';
import { readStorageNote, type StorageNote, writeStorageNote } from '#kit/config/storage-note.ts';
import { crashPoint } from '#kit/crash-point.ts';
import type { Database, Sql } from '#kit/database/database.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { readStorageState, type StorageState, writeStorageState } from '#kit/database/storage-state.ts';
import { Conflict, InvalidInput } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { type StoredThing, storageError } from '#kit/storage/storage-error.ts';
import { type Compared, inUse, type MovePart, withinTransaction } from '#kit/storage-move/part.ts';
import { whoRunsIn } from '../backup/restore-target.ts';
import { openMoveParts } from '../programs.ts';
import { holdDatabase, requireEmpty } from './database-hold.ts';
import { tokensPart } from './tokens-part.ts';

export interface MoveRequest {
  readonly folders: Folders;
  readonly to: StorageKind;
  /** Of the database, in place of what core.json says. */
  readonly given: Partial<Pick<Storage, 'url' | 'password_file' | 'ca_file'>>;
  readonly progress: {
    begin(what: string, total: number): void;
    add(amount: number): void;
    end(): void;
  };
  readonly signal: AbortSignal;
  /** Asked once everything is known to be movable. Throws to refuse. */
  readonly confirm: (counts: MoveCounts) => Promise<void>;
}

export interface MoveCounts {
  readonly database: string;
  readonly parts: readonly { readonly name: string; readonly entries: number }[];
}

export interface MoveReport {
  readonly to: StorageKind;
  readonly database: string;
  readonly state: string;
  /** core.json, which names what is in use now. */
  readonly config: string;
  /** What both sides hold. Empty where an earlier move had compared it, and only the switch was left. */
  readonly parts: readonly ({ readonly name: string } & Compared)[];
}

const files: StoredThing = {
  codePrefix: 'storage',
  name: 'a part of it',
  whenDamaged: 'The service that it belongs to says at its start what it can save of it.',
};

/** Services that keep records of their own, in the order in which these are moved. */
const services = ['agentd', 'model-gateway', 'bridge'];

/** What was found before anything is changed. */
interface Situation {
  readonly note: StorageNote | null;
  readonly found: StorageState | null;
  readonly installation: string;
  readonly place: string;
}

/**
 * Moves everything that core.json's `storage` means, and then names the other side there. What was in use stays the authority until
 * both sides were compared; then it is marked as left, the other side is opened, and core.json is written, in this order, so that at
 * no time both are in use. Killed anywhere, it goes on when it is called again.
 * @throws Conflict (`storage_in_use`, `storage_already`, `storage_move_unfinished`, `storage_target_not_empty`, `storage_moved` …)
 */
export async function migrateStorage(request: MoveRequest): Promise<MoveReport> {
  const { folders, to } = request;
  const storage = { ...readStorage(folders), ...request.given };
  const settings = settingsOf(storage);
  const runs = whoRunsIn(folders.state);
  if (runs !== null)
    throw inUse(
      `${runs}, uses ${folders.state}`,
      'Stop it first: Ctrl-C in its terminal, or its service manager.',
    );
  const note = readStorageNote(folders.state);
  requireBegun(to, storage.kind, note);
  const hold = holdFolder(folders.state, { code: 'storage_move_held', name: 'the storage' });
  const installation = note?.installation ?? randomUUID();
  const database = openPostgres(settings, 'core-storage', { mover: installation });
  try {
    const found = await readStorageState(database);
    const situation = { note, found, installation, place: `${hostname()}:${folders.state}` };
    const parts = await (to === 'postgres' ? toDatabase : toFiles)(request, database, situation);
    crashPoint('storage.target_in_use');
    const config = switchTo(folders, to, request.given);
    crashPoint('storage.switched');
    return { to, database: database.name, state: folders.state, config, parts };
  } catch (error) {
    throw storageError(error, join(folders.state, 'storage.json'), files);
  } finally {
    request.progress.end();
    await database.close();
    hold.release();
  }
}

/** At once a cursor, a page that is written, and the transaction that holds the database. */
const minConnections = 4;

function settingsOf({ kind: _, s3: _objects, url, ...others }: Storage): PostgresSettings {
  if (url !== null) return { ...others, url, connections: Math.max(minConnections, others.connections) };
  throw new InvalidInput('invalid_option', 'no database is named: storage.url in core.json is null', {
    hint: 'Name one, for example\n./core storage migrate --to postgres --url postgres://core@db.example.org:5432/core --password-file /etc/core/database-password',
  });
}

/** @throws Conflict (`storage_already`, `storage_move_unfinished`) where this is not what there is to do */
function requireBegun(to: StorageKind, kind: StorageKind, note: StorageNote | null): void {
  // A move writes core.json last: until then the note names another side.
  const unfinished = note !== null && note.kind !== kind ? note.kind : null;
  if (unfinished !== null && unfinished !== to) throw unfinishedMove(unfinished);
  if (unfinished === null && to === kind)
    throw new Conflict('storage_already', `core.json says ${kind} already: there is nothing to move`);
}

function unfinishedMove(to: StorageKind): Conflict {
  return new Conflict('storage_move_unfinished', `a move to ${to} has not come to its end`, {
    hint: `Finish it: ./core storage migrate --to ${to}`,
  });
}

type Parts = MoveReport['parts'];

async function toDatabase(
  request: MoveRequest,
  database: Database,
  { note, found, installation, place }: Situation,
): Promise<Parts> {
  const { folders } = request;
  const isOurs = found?.installation === installation;
  const facts = { installation, database: database.name };
  if (note?.kind === 'postgres') {
    // Compared before it was killed, and not in use since.
    if (!isOurs) throw anotherDatabase(database, note);
    if (found.state === 'moved') throw unfinishedMove('files');
    await database.transaction((sql) => writeStorageState(sql, { state: 'used', installation, place }));
    return [];
  }
  return database.transaction(async (held) => {
    await holdDatabase(held, database.name, { toFiles: false });
    if (!isOurs || found.state === 'used') await requireEmpty(held, database.name, found);
    return withParts(request, database, async (parts) => {
      await prepare(request, database, parts);
      writeStorageNote(folders.state, { ...facts, kind: 'files' });
      await database.transaction((sql) => writeStorageState(sql, { state: 'filling', installation, place }));
      crashPoint('storage.begun');
      const compared = await moved(request, parts);
      writeStorageNote(folders.state, { ...facts, kind: 'postgres' });
      crashPoint('storage.source_left');
      await writeStorageState(held, { state: 'used', installation, place });
      return compared;
    });
  });
}

async function toFiles(
  request: MoveRequest,
  database: Database,
  { note, found, installation, place }: Situation,
): Promise<Parts> {
  const { folders } = request;
  const isOurs = found?.installation === installation;
  if (found?.state === 'filling') throw unfinishedMove('postgres');
  if (found?.state === 'moved' && !isOurs)
    throw new Conflict(
      'storage_moved',
      `what was in ${database.name} moved to ${found.place} on ${found.at.toISOString()}`,
    );
  const left = (kind: StorageKind) =>
    writeStorageNote(folders.state, { installation, kind, database: database.name });
  if (found?.state === 'moved') {
    left('files');
    return [];
  }
  const compared = await database.transaction(async (held: Sql) => {
    await holdDatabase(held, database.name, { toFiles: true });
    return withParts(request, withinTransaction(database, held), async (parts) => {
      const isCopy = note?.kind === 'postgres' && (isOurs || note.database === database.name);
      if (!isCopy) await requireNoFiles(folders, parts);
      await prepare(request, database, parts);
      left('postgres');
      crashPoint('storage.begun');
      const both = await moved(request, parts);
      await leaveContextBackups(held);
      await writeStorageState(held, { state: 'moved', installation, place });
      return both;
    });
  });
  crashPoint('storage.source_left');
  left('files');
  return compared;
}

function anotherDatabase(database: Database, note: StorageNote): Conflict {
  return new Conflict(
    'storage_target_not_empty',
    `what was here moved to ${note.database} on ${note.at}, and ${database.name} does not hold it`,
    { hint: 'Name the database that it moved to, or restore a backup of it.' },
  );
}

/** Opens everything, and so holds it, until `work` has ended. */
async function withParts<T>(
  { folders, to }: MoveRequest,
  database: Database,
  work: (parts: readonly MovePart[]) => Promise<T>,
): Promise<T> {
  const options = { folders, to, database };
  const parts: MovePart[] = [tokensPart(options)];
  try {
    for (const service of services) parts.push(...(await openMoveParts(service, options)));
    return await work(parts);
  } finally {
    for (const part of parts.toReversed()) await part.close();
  }
}

async function requireNoFiles({ state }: Folders, parts: readonly MovePart[]): Promise<void> {
  const there: string[] = [];
  for (const part of parts) {
    const what = await part.foreignFiles();
    if (what !== null) there.push(what);
  }
  if (there.length === 0) return;
  throw new Conflict('storage_target_not_empty', `${state} holds records of its own: ${there.join(', ')}`, {
    hint: 'Move to the folder of an installation that is empty, with --home DIR, or move these files away.',
  });
}

async function prepare(request: MoveRequest, database: Database, parts: readonly MovePart[]): Promise<void> {
  const counts: { name: string; entries: number }[] = [];
  for (const part of parts) {
    await part.prepare();
    const entries = await part.count();
    if (entries > 0) counts.push({ name: part.name, entries });
  }
  request.signal.throwIfAborted();
  await request.confirm({ database: database.name, parts: counts });
}

/** The record of core-context goes on in files of this host: what was backed up here must not replace it after a later move. */
async function leaveContextBackups(held: Sql): Promise<void> {
  await held.query('DELETE FROM context_backups');
  await held.query('DELETE FROM context_records');
  await held.query('DELETE FROM context_journal');
  await held.query('UPDATE context_pieces SET going = true');
}

async function moved({ progress, signal }: MoveRequest, parts: readonly MovePart[]): Promise<Parts> {
  const compared: MoveReport['parts'][number][] = [];
  const step = (entries: number) => {
    signal.throwIfAborted();
    progress.add(entries);
  };
  const begin = async (what: string, part: MovePart) => {
    const entries = await part.count();
    if (entries > 0) progress.begin(`${what} ${part.name}`, entries);
  };
  for (const part of parts) {
    await begin('copying', part);
    await part.copy(step);
  }
  crashPoint('storage.copied');
  for (const part of parts) {
    await begin('comparing', part);
    const both = await part.compare(step);
    if (both.entries > 0) compared.push({ name: part.name, ...both });
  }
  progress.end();
  signal.throwIfAborted();
  crashPoint('storage.compared');
  return compared;
}

/** @returns the path of core.json */
function switchTo(folders: Folders, kind: StorageKind, given: MoveRequest['given']): string {
  return changeConcern(folders, {
    name: 'core',
    codec: Settings,
    members: ({ storage }) => ({ storage: { ...(isObject(storage) ? storage : {}), ...given, kind } }),
    check() {},
  });
}
