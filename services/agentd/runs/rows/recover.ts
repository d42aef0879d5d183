import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sql } from '#kit/database/database.ts';
import type { RecoveryRequest } from '../../agent.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import { putArtifact, readArtifact } from '../log/artifacts.ts';
import { lineOf, soundEvents } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import type { Heads } from '../log/heads.ts';
import { logName } from '../log/run-folder.ts';
import { recovery } from '../verify/recover.ts';
import type { StoredRun } from './stored-runs.ts';

/** What the database holds of a run, as files. */
export interface RecordFolder {
  readonly runsDir: string;
  readonly heads: Heads;
  /** The run's own. */
  readonly folder: string;
}

/**
 * Takes out what stands behind the last sound event of a cut record. It is kept as an artifact, else what this host's mirror has of it.
 * @param sql holds the row of the run since before the record was read
 * @param record with what this host's mirror has, and the database lost
 * @returns what is left, and the event that says so
 * @throws Conflict (`record_whole`, `record_lost`)
 */
export async function recoverRows(
  sql: Sql,
  request: RecoveryRequest,
  { runsDir, heads, folder, missing }: RecordFolder & { readonly missing: readonly RunEvent[] },
): Promise<{ readonly stored: StoredRun; readonly event: NewEvent }> {
  const { run_id } = request;
  const event = withMissing(recovery(request, runsDir, heads), folder, missing);
  const { events, length } = soundEvents(readFileSync(join(folder, logName)));
  await sql.query('DELETE FROM run_events WHERE run_id = $1 AND seq > $2', [run_id, events.length]);
  const aside = event.type === 'record_recovered' ? event.data.set_aside : null;
  if (aside !== null) {
    await sql.query(
      'INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [run_id, aside.artifact, readArtifact(folder, aside.artifact)],
    );
  }
  const run = fold(run_id, events);
  await sql.query('UPDATE runs SET seq = $2, hash = $3 WHERE run_id = $1', [
    run_id,
    run.head.seq,
    run.head.hash,
  ]);
  return { stored: { run, events, size: length }, event };
}

function withMissing(event: NewEvent, folder: string, missing: readonly RunEvent[]): NewEvent {
  if (event.type !== 'record_recovered' || event.data.set_aside !== null || missing.length === 0)
    return event;
  const lines = Buffer.from(missing.map(lineOf).join(''));
  const set_aside = { bytes: lines.length, artifact: putArtifact(folder, lines) };
  return { ...event, data: { ...event.data, set_aside } };
}
