import { existsSync, readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Database, Sql } from '#kit/database/database.ts';
import { makePrivateFolder, replaceFile, syncFolder } from '#kit/durable-file.ts';
import type { RunEvent } from '../event.ts';
import { lineOf, soundEvents } from '../log/event-line.ts';
import { type HeadMark, Heads } from '../log/heads.ts';
import { artifactsName, logName } from '../log/run-folder.ts';
import { writeViews } from '../views/views.ts';
import { behindMirror, databaseBehind, type MirrorPlace, mirrorHead } from './behind.ts';
import type { RunArtifacts } from './run-artifacts.ts';
import { linesOf } from './stored-runs.ts';

export interface MirrorOptions extends MirrorPlace {
  /** Also where a file of the name of an artifact is there already. */
  readonly rewrite?: boolean;
}

/**
 * Writes the run's folder and its head as a store of files keeps them, from what the database holds. A folder that is a mirror can be
 * deleted at any time, and read without the database.
 * @throws Conflict (`database_behind`) where the folder has more; it stays as it is then
 */
export async function writeMirror(
  database: Database,
  contents: RunArtifacts,
  options: MirrorOptions,
): Promise<void> {
  const { stateDir, runId } = options;
  await database.transaction(async (sql) => {
    // One after another, so that no older state overwrites a newer one.
    const folder = `mirror ${hostname()} ${stateDir} ${runId}`;
    await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [folder]);
    if (mirrorHead(options) !== null) {
      const stored = soundEvents(logOf(await linesOf(sql, runId))).events;
      const found = await behindMirror(sql, options, stored);
      if (found !== null) throw databaseBehind(runId, found);
    }
    const written = await writeRecord(sql, contents, options, (head) => ({ after: 0, upTo: head.seq }));
    if (written !== null) writeViews(runId, written.path, written.events);
  });
}

/** Everything that the database holds of a run, sound or not, without views. @param sql sees one moment of the run */
export async function writeEvidence(sql: Sql, contents: RunArtifacts, place: MirrorPlace): Promise<void> {
  await writeRecord(sql, contents, place, () => undefined);
}

/**
 * Keeps in this host's mirror what a process was acknowledged and the database lost, unless the mirror has something else already.
 * Artifacts that were lost as well are missing there.
 */
export function keepInMirror(place: MirrorPlace, events: readonly RunEvent[]): void {
  const held = mirrorHead(place);
  if (held !== null && events[held.seq - 1]?.hash !== held.hash) return;
  const log = Buffer.from(events.map(lineOf).join(''));
  const { seq, hash, type } = events.at(-1)!;
  const path = makeFolders(place);
  writeLog(place, log, { seq, hash, type });
  writeViews(place.runId, path, soundEvents(log).events);
}

/** @returns null of a run that the database does not have */
async function writeRecord(
  sql: Sql,
  contents: RunArtifacts,
  { stateDir, runId, rewrite = false }: MirrorOptions,
  linesFor: (head: HeadMark) => Parameters<typeof linesOf>[2],
) {
  const [head] = await sql.query<HeadMark>('SELECT seq, hash, type FROM runs WHERE run_id = $1', [runId]);
  if (head === undefined) return null;
  const path = makeFolders({ stateDir, runId });
  const artifacts = join(path, artifactsName);
  const stored = await sql.query<{ digest: string }>('SELECT digest FROM run_artifacts WHERE run_id = $1', [
    runId,
  ]);
  const named = new Set(stored.map(({ digest }) => digest));
  for (const other of readdirSync(artifacts))
    if (!named.has(other)) rmSync(join(artifacts, other), { recursive: true });
  for (const digest of named) {
    if (!rewrite && existsSync(join(artifacts, digest))) continue;
    await contents.write(sql, runId, digest, join(artifacts, digest));
  }
  const log = logOf(await linesOf(sql, runId, linesFor(head)));
  writeLog({ stateDir, runId }, log, head);
  return { path, events: soundEvents(log).events };
}

function makeFolders({ stateDir, runId }: MirrorPlace): string {
  const path = join(stateDir, 'runs', runId);
  makePrivateFolder(join(stateDir, 'runs'));
  makePrivateFolder(path);
  makePrivateFolder(join(path, artifactsName));
  return path;
}

function writeLog({ stateDir, runId }: MirrorPlace, log: Buffer, head: HeadMark): void {
  const path = join(stateDir, 'runs', runId);
  replaceFile(join(path, logName), log);
  syncFolder(path);
  const heads = new Heads(stateDir);
  heads.create(runId);
  heads.acknowledge(runId, head);
  heads.sync(runId);
}

export function logOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}
