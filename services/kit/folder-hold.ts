import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as t from 'io-ts';
import { decodeJson } from './decode.ts';
import { replaceNote, syncFolder } from './durable-file.ts';
import { Conflict } from './errors.ts';
import { prepareFolder, requireRestored } from './folders.ts';
import { sqliteCode, sqliteCodes } from './sqlite-error.ts';
import { thisProcess } from './sqlite-lease-holder.ts';

/** The right to be the one process that works on what a folder holds. */
export interface FolderHold {
  /** Whether whoever held it before let go in order. */
  readonly endedWell: boolean;
  release(): void;
  /** Lets go, and leaves it to the next holder to look at what is there. */
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
/** A holder that is ending gets so long, in milliseconds. */
const patienceMs = 2_000;

/**
 * The operating system keeps the lock, through SQLite, on a file of its own: it is free as soon as its holder is gone, however
 * that ended, and a full disk takes it from nobody. Who holds it is written beside it, for people.
 * @param folder is made where it is missing
 * @throws Conflict (of the thing's code) naming the holder, Conflict (`restore_unfinished`), Failed (`state_not_writable`)
 */
export function holdFolder(folder: string, thing: HeldThing): FolderHold {
  prepareFolder(folder, 'state');
  const lock = new DatabaseSync(join(folder, 'holder.lock'), { timeout: patienceMs });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    if (thing.forRestore !== true) requireRestored(folder);
  } catch (cause) {
    lock.close();
    if (sqliteCode(cause) !== sqliteCodes.busy) throw cause;
    throw heldBy(folder, thing, cause);
  }
  const endedWell = !existsSync(holderPath(folder));
  tellHolder(folder);
  return {
    endedWell,
    release() {
      rmSync(holderPath(folder), { force: true });
      lock.close();
    },
    abandon: () => lock.close(),
  };
}

function tellHolder(folder: string): void {
  const { pid, host } = thisProcess();
  try {
    const since = new Date().toISOString();
    replaceNote(holderPath(folder), `${JSON.stringify({ pid, host, since })}\n`);
    // That it is there tells the next holder that this one did not let go in order, after a power cut too.
    syncFolder(folder);
  } catch {
    // A full disk: the lock holds without its name.
  }
}

function heldBy(folder: string, { code, name }: HeldThing, cause: unknown): Conflict {
  const holder = readHolder(folder);
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`;
  const since = holder === null ? '' : ` since ${holder.since}`;
  return new Conflict(code, `${name} in ${folder} is held by ${who}${since}`, {
    cause,
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
