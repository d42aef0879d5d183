import type { Sql } from '#kit/database/database.ts';
import { sha256 } from '#kit/digest.ts';
import type { RecoveryRequest } from '../../agent.ts';
import type { NewEvent } from '../event.ts';
import { lineOf } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { replaceRows } from '../rows/append-rows.ts';
import { recordInRows } from '../rows/record-in-rows.ts';
import type { StoredRun } from '../rows/stored-runs.ts';
import { recovery, soundPart, stateOf } from '../verify/recover.ts';
import { type Behind, newestHead } from './behind.ts';

/**
 * Cuts a damaged record after its last sound event. Stores the rest as an artifact, with the events that only this host's folder has.
 * @param sql transaction during which no other process appends to the run
 * @returns the remaining run, and the event that records the recovery
 * @throws Conflict (`record_whole`, `record_lost`)
 */
export async function cutRows(
  sql: Sql,
  request: RecoveryRequest,
  behind: Behind | null,
): Promise<{ readonly stored: StoredRun; readonly event: NewEvent }> {
  const { run_id } = request;
  const found = await recordInRows(sql, run_id);
  const record = { ...found, acknowledged: newestHead(found.acknowledged, behind) };
  const { events, length, rest } = soundPart(record);
  const missing = Buffer.from((behind?.missing ?? []).map(lineOf).join(''));
  const bytes = Buffer.concat([rest, missing]);
  const aside = bytes.length === 0 ? null : { bytes, digest: sha256(bytes) };
  const event = recovery(request, stateOf(record), aside);
  if (aside !== null) {
    await sql.query(
      'INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [run_id, aside.digest, aside.bytes],
    );
  }
  const run = fold(run_id, events);
  await replaceRows(sql, run, events);
  return {
    stored: { run, events, lines: events.map((one) => lineOf(one).slice(0, -1)), size: length },
    event,
  };
}
