import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { changeNumber } from '#kit/database/change-numbers.ts';
import { places, type Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import { digestOfArtifact, readArtifact } from '../log/artifacts.ts';
import { lineOf, soundEvents } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { artifactsName } from '../log/run-folder.ts';
import { behindOf, databaseBehind } from '../mirror/behind.ts';
import { folderOf, type MirrorPlace, mirroredEvents } from '../mirror/run-folder-log.ts';
import { insertLines } from './append-rows.ts';
import { linesOf, logOf } from './record-in-rows.ts';
import { summaryColumns, valuesOf } from './run-rows.ts';

/**
 * Puts the events that the database lost back where they were, and artifacts that it lost, from this host's folder. They were
 * acknowledged, and nothing else has happened to the run since.
 * @param sql nothing is appended to the run until this transaction ends
 * @throws Conflict (`record_whole`, `database_behind` if the run went on without them)
 */
export async function restoreRows(sql: Sql, place: MirrorPlace): Promise<void> {
  const { runId } = place;
  const stored = soundEvents(logOf(await linesOf(sql, runId))).events;
  const events = mirroredEvents(place);
  const held = await behindOf(sql, runId, events, stored);
  if (held === null) {
    if ((await restoreArtifacts(sql, place)) > 0) return;
    throw new Conflict('record_whole', `the database has all that this host's mirror of run ${runId} has`);
  }
  if (held.others > 0) throw databaseBehind(runId, held);
  const run = fold(runId, events);
  const lines = events.map(lineOf);
  const size = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  const names = ['run_id', 'seq', 'hash', 'type', ...summaryColumns];
  const values = [runId, run.head.seq, run.head.hash, events.at(-1)!.type, ...valuesOf(run, size)];
  const changed = `core_clock_ms(), ${changeNumber(sql, 'runs')}`;
  await sql.query(
    `INSERT INTO runs (${names.join(', ')}, changed_at, changed_in) VALUES (${places(values)}, ${changed})
     ON CONFLICT (run_id) DO UPDATE SET changed_at = excluded.changed_at, changed_in = excluded.changed_in, ${names
       .slice(1)
       .map((name) => `${name} = excluded.${name}`)
       .join(', ')}`,
    values,
  );
  // What stands there instead does not hold.
  await sql.query('DELETE FROM run_events WHERE run_id = $1 AND seq > $2', [runId, held.shared]);
  await insertLines(sql, runId, held.missing, lines.slice(held.shared).join(''));
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
