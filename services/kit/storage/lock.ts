import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as t from 'io-ts';
import { decodeJson } from '../decode.ts';
import { replaceNote, syncFolder } from '../durable-file.ts';
import { Conflict, Unavailable } from '../errors.ts';
import { prepareFolder, requireRestored } from '../folders.ts';
import { thisProcess } from './process-identity.ts';
import { sqliteCode, sqliteCodes } from './storage-error.ts';

/** Held by the one process that may write to a folder. */
export interface FolderHold {
  /** False when the process before this one was killed. */
  readonly endedWell: boolean;
  release(): void;
  /** Releases the lock; the next holder sees `endedWell` false. */
  abandon(): void;
}

export interface HeldThing {
  /** Of the refusal, as in `record_held`. */
  readonly code: string;
  /** What the folder holds, as in "the context record". */
  readonly name: string;
  /** Also while a restore has not come to its end there. */
  readonly forRestore?: boolean;
}

const Holder = t.strict({ pid: t.number, host: t.string, since: t.string });
/** A holder that is ending gets this long, in milliseconds. */
const folderWaitMs = 2_000;
/** Milliseconds; the work under a file's lock is short. */
const fileWaitMs = 5_000;

/**
 * Takes a lock that the operating system keeps, through SQLite: it is free as soon as its holder is gone, however that ended.
 * @param path a file of its own, which stays
 * @returns null where another process holds it after `waitMs`
 */
function lock(path: string, waitMs: number): DatabaseSync | null {
  const file = new DatabaseSync(path, { timeout: waitMs });
  try {
    file.exec('BEGIN EXCLUSIVE');
    return file;
  } catch (error) {
    file.close();
    if (sqliteCode(error) === sqliteCodes.busy) return null;
    throw error;
  }
}

/**
 * Runs short, synchronous work that no other process does at the same time.
 * @throws Unavailable (`lock_busy`) when others hold the lock for five seconds
 */
export function withFileLock<T>(path: string, work: () => T): T {
  const held = lock(path, fileWaitMs);
  if (held === null) throw new Unavailable('lock_busy', `another process holds ${path}`, { facts: { path } });
  try {
    return work();
  } finally {
    held.close();
  }
}

/**
 * Locks a folder for as long as this process uses it. A full disk takes the lock from nobody. The holder's name lies beside the
 * lock, for messages.
 * @param folder is made where it is missing
 * @throws Conflict (of the thing's code) naming the holder, Conflict (`restore_unfinished`), Failed (`state_not_writable`)
 */
export function holdFolder(folder: string, thing: HeldThing): FolderHold {
  prepareFolder(folder, 'state');
  const held = lock(join(folder, 'holder.lock'), folderWaitMs);
  if (held === null) throw heldBy(folder, thing);
  try {
    if (thing.forRestore !== true) requireRestored(folder);
  } catch (error) {
    held.close();
    throw error;
  }
  const endedWell = !existsSync(holderPath(folder));
  writeHolder(folder);
  return {
    endedWell,
    release() {
      rmSync(holderPath(folder), { force: true });
      held.close();
    },
    abandon: () => held.close(),
  };
}

function writeHolder(folder: string): void {
  const { pid, host } = thisProcess();
  try {
    const since = new Date().toISOString();
    replaceNote(holderPath(folder), `${JSON.stringify({ pid, host, since })}\n`);
    // The next holder learns from this file, after a power cut too, that this one did not end in order.
    syncFolder(folder);
  } catch {
    // A full disk: the lock holds without its name.
  }
}

function heldBy(folder: string, { code, name }: HeldThing): Conflict {
  const holder = readHolder(folder);
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`;
  const since = holder === null ? '' : ` since ${holder.since}`;
  return new Conflict(code, `${name} in ${folder} is held by ${who}${since}`, {
    facts: { folder, ...holder },
    hint: 'End that process, or give this one another folder with --home DIR.',
  });
}

function readHolder(folder: string): t.TypeOf<typeof Holder> | null {
  try {
    return decodeJson(Holder, readFileSync(holderPath(folder), 'utf8'), 'holder');
  } catch {
    return null;
  }
}

function holderPath(folder: string): string {
  return join(folder, 'holder.json');
}
