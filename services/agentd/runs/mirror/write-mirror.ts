import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '#kit/database/database.ts';
import { makePrivateFolder, replaceFile, syncFolder } from '#kit/durable-file.ts';
import type { RunEvent } from '../event.ts';
import { lineOf, soundEvents } from '../log/event-line.ts';
import { artifactsName, logName } from '../log/run-folder.ts';
import { recordLines } from '../rows/record-in-rows.ts';
import type { RunArtifacts } from '../rows/run-artifacts.ts';
import { writeViews } from '../views/views.ts';
import { behindOf, databaseBehind } from './behind.ts';
import { folderOf, type MirrorPlace, mirroredEvents, writingFolders } from './run-folder-log.ts';

/**
 * Writes the run's folder from the database. The folder can be deleted at any time, and can be read without the database.
 * @param rewrite also replaces existing files, and removes artifacts that the database does not have
 * @throws Conflict (`database_behind`) if the folder has more events; the folder stays unchanged then
 */
export async function writeMirror(
  database: Database,
  contents: RunArtifacts,
  place: MirrorPlace,
  rewrite = false,
): Promise<void> {
  const { runId } = place;
  for (let before: string | null = null; ; ) {
    const record = await recordLines(database, runId);
    if (record === null) return;
    await writeArtifacts(contents, place, rewrite);
    const { log } = record;
    const { events } = soundEvents(log);
    const found = await behindOf(database, runId, mirroredEvents(place), events);
    const written = found === null && writingFolders(place.stateDir, () => writeFolder(place, log, events));
    if (written) return;
    // Another process may have appended events and written the folder meanwhile. Events missing at the second look are lost.
    if (before === record.hash && found !== null) throw databaseBehind(runId, found);
    before = record.hash;
  }
}

/** @returns false if the folder is newer than these events */
function writeFolder(place: MirrorPlace, log: Uint8Array, events: readonly RunEvent[]): boolean {
  const there = mirroredEvents(place);
  const isOlder = there.length > events.length && there[events.length - 1]?.hash === events.at(-1)?.hash;
  if (isOlder) return false;
  writeLog(place, log, events);
  return true;
}

/**
 * Saves acknowledged events that the database lost to this host's folder, unless the folder has different events. Does not restore
 * lost artifacts.
 */
export function keepInMirror(place: MirrorPlace, events: readonly RunEvent[]): void {
  writingFolders(place.stateDir, () => {
    const last = mirroredEvents(place).at(-1);
    if (last !== undefined && events[last.seq - 1]?.hash !== last.hash) return;
    makeFolders(place);
    writeLog(place, Buffer.from(events.map(lineOf).join('')), events);
  });
}

async function writeArtifacts(contents: RunArtifacts, place: MirrorPlace, rewrite: boolean): Promise<void> {
  makeFolders(place);
  const folder = join(folderOf(place), artifactsName);
  const stored = await contents.names(place.runId);
  if (rewrite)
    for (const other of readdirSync(folder))
      if (!stored.includes(other)) rmSync(join(folder, other), { recursive: true });
  for (const digest of stored) {
    const path = join(folder, digest);
    if (!rewrite && isFile(path)) continue;
    makeRoom(path);
    await contents.write(place.runId, digest, path);
  }
}

function makeFolders(place: MirrorPlace): void {
  const path = folderOf(place);
  for (const folder of [join(place.stateDir, 'runs'), path, join(path, artifactsName)])
    makePrivateFolder(folder);
}

function writeLog(place: MirrorPlace, log: Uint8Array, events: readonly RunEvent[]): void {
  const path = folderOf(place);
  makeRoom(join(path, logName));
  replaceFile(join(path, logName), log);
  syncFolder(path);
  writeViews(place.runId, path, events);
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Removes anything but a regular file, because a file cannot replace a folder. */
function makeRoom(path: string): void {
  if (!isFile(path)) rmSync(path, { recursive: true, force: true });
}
