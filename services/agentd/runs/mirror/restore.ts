import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import { digestOfArtifact, readArtifact } from '../log/artifacts.ts';
import { soundEvents } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { artifactsName } from '../log/run-folder.ts';
import { replaceRows } from '../rows/append-rows.ts';
import { eventRows, logOf, recordInRows } from '../rows/record-in-rows.ts';
import { behindOf, databaseBehind } from './behind.ts';
import { folderOf, type MirrorPlace, mirroredEvents } from './run-folder-log.ts';

/**
 * Restores events and artifacts that the database lost, from this host's folder. The events were acknowledged, and the run has not
 * continued since.
 * @param sql transaction during which no other process appends to the run
 * @throws Conflict (`record_whole`, `mirror_behind` if the folder ends before the newest event that the database acknowledged,
 * `database_behind` if the run continued without the lost events)
 */
export async function restoreRows(sql: Sql, place: MirrorPlace): Promise<void> {
  const { runId } = place;
  const { rows, head, isSound } = await recordInDatabase(sql, runId);
  const events = mirroredEvents(place);
  const newest = Math.max(head?.seq ?? 0, rows.at(-1)?.seq ?? 0);
  if (
    events.length > 0 &&
    (events.length < newest || (head !== null && events[head.seq - 1]?.hash !== head.hash))
  ) {
    const held = await behindOf(sql, runId, events, soundEvents(logOf(rows)).events);
    throw held !== null && held.others > 0
      ? databaseBehind(runId, held)
      : mirrorBehind(runId, events.length, newest);
  }
  const isWhole = isSound && rows.length >= events.length;
  if (!isWhole && events.length > 0) await replaceRows(sql, fold(runId, events), events);
  const restored = await restoreArtifacts(sql, place);
  if (isWhole && restored === 0)
    throw new Conflict('record_whole', `the database has all that this host's mirror of run ${runId} has`);
}

/** Rows and head of a run, sound or not. `isSound`: all rows are sound and end with the head. */
async function recordInDatabase(sql: Sql, runId: string) {
  const rows = await eventRows(sql, runId);
  const { acknowledged: head, problems } = await recordInRows(sql, runId);
  const { events } = soundEvents(logOf(rows));
  const last = events.at(-1);
  const isSound =
    problems.length === 0 && events.length === rows.length && head !== null && last?.hash === head.hash;
  return { rows, head, isSound };
}

function mirrorBehind(runId: string, here: number, newest: number): Conflict {
  return new Conflict(
    'mirror_behind',
    `this host's mirror of run ${runId} ends with event ${here}, and the database acknowledged event ${newest}: nothing was changed, because what came between would be lost`,
    {
      facts: { run_id: runId, mirror_seq: here, acknowledged_seq: newest },
      hint: `Try the other hosts and backups. ./core recover ${runId} --accept-loss continues without the lost events; then check what was decided or done since.`,
    },
  );
}

/** @returns number of artifacts that the database lacked */
async function restoreArtifacts(sql: Sql, place: MirrorPlace): Promise<number> {
  const { runId } = place;
  const folder = folderOf(place);
  if (!existsSync(join(folder, artifactsName))) return 0;
  let restored = 0;
  for (const digest of readdirSync(join(folder, artifactsName))) {
    if (digestOfArtifact(folder, digest) !== digest) continue;
    const rows = await sql.query(
      'INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1 AS restored',
      [runId, digest, readArtifact(folder, digest)],
    );
    restored += rows.length;
  }
  return restored;
}
