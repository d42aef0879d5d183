import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { places, type Sql } from '#kit/database/database.ts';
import { Conflict } from '#kit/errors.ts';
import { digestOfArtifact, readArtifact } from '../log/artifacts.ts';
import { lineOf, soundEvents } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { artifactsName } from '../log/run-folder.ts';
import { addLines, linesAsValues } from './append-rows.ts';
import { behindMirror, databaseBehind, type MirrorPlace, mirroredEvents } from './behind.ts';
import { logOf } from './mirror.ts';
import { summaryColumns, valuesOf } from './run-rows.ts';
import { linesOf } from './stored-runs.ts';

/**
 * Puts the events that the database lost back where they were, and artifacts that it lost, from this host's mirror. They were
 * acknowledged, and nothing else has happened to the run since.
 * @param sql holds the row of the run
 * @throws Conflict (`record_whole`, `database_behind` where the run went on without them, or the mirror does not hold)
 */
export async function restoreRows(sql: Sql, place: MirrorPlace): Promise<void> {
  const { runId } = place;
  const stored = soundEvents(logOf(await linesOf(sql, runId))).events;
  const held = await behindMirror(sql, place, stored);
  if (held === null) {
    if ((await restoreArtifacts(sql, place)) > 0) return;
    throw new Conflict('record_whole', `the database has all that this host's mirror of run ${runId} has`);
  }
  const events = mirroredEvents(place).slice(0, held.head.seq);
  if (held.others > 0 || events.at(-1)?.hash !== held.head.hash) throw databaseBehind(runId, held);
  const run = fold(runId, events);
  const lines = events.map(lineOf);
  const size = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  const names = ['run_id', 'seq', 'hash', 'type', ...summaryColumns];
  const values = [runId, run.head.seq, run.head.hash, events.at(-1)!.type, ...valuesOf(run, size)];
  await sql.query(
    `INSERT INTO runs (${names.join(', ')}) VALUES (${places(values)})
    ON CONFLICT (run_id) DO UPDATE SET changed_at = clock_timestamp(), ${names
      .slice(1)
      .map((name) => `${name} = excluded.${name}`)
      .join(', ')}`,
    values,
  );
  // What stands there in their place does not hold.
  await sql.query('DELETE FROM run_events WHERE run_id = $1 AND seq > $2', [runId, held.shared]);
  await sql.query(addLines, linesAsValues(runId, held.missing, lines.slice(held.shared).join('')));
  await restoreArtifacts(sql, place);
}

/** @returns how many the database lacked */
async function restoreArtifacts(sql: Sql, { stateDir, runId }: MirrorPlace): Promise<number> {
  const folder = join(stateDir, 'runs', runId);
  if (!existsSync(join(folder, artifactsName))) return 0;
  let restored = 0;
  for (const digest of readdirSync(join(folder, artifactsName))) {
    if (digestOfArtifact(folder, digest) !== digest) continue;
    const rows = await sql.query(
      'INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1',
      [runId, digest, readArtifact(folder, digest)],
    );
    restored += rows.length;
  }
  return restored;
}
