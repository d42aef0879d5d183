import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import { digestOfArtifact, readArtifact } from '../log/artifacts.ts';
import { soundEvents } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { artifactsName } from '../log/run-folder.ts';
import { replaceRows } from '../rows/append-rows.ts';
import { eventRows, logOf } from '../rows/record-in-rows.ts';
import { behindOf, databaseBehind } from './behind.ts';
import { folderOf, type MirrorPlace, mirroredEvents } from './run-folder-log.ts';

/**
 * Puts the events that the database lost back where they were, and artifacts that it lost, from this host's folder. They were
 * acknowledged, and nothing else has happened to the run since.
 * @param sql nothing is appended to the run until this transaction ends
 * @throws Conflict (`record_whole`, `database_behind` if the run went on without them)
 */
export async function restoreRows(sql: Sql, place: MirrorPlace): Promise<void> {
  const { runId } = place;
  const stored = soundEvents(logOf(await eventRows(sql, runId))).events;
  const events = mirroredEvents(place);
  const held = await behindOf(sql, runId, events, stored);
  if (held === null) {
    if ((await restoreArtifacts(sql, place)) > 0) return;
    throw new Conflict('record_whole', `the database has all that this host's mirror of run ${runId} has`);
  }
  if (held.others > 0) throw databaseBehind(runId, held);
  await replaceRows(sql, fold(runId, events), events);
  await restoreArtifacts(sql, place);
}

/** @returns how many the database lacked */
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
