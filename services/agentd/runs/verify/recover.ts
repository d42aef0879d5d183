import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordState } from '#kit/contracts/run.ts';
import { Conflict, messageOf } from '#kit/errors.ts';
import type { RecoveryRequest } from '../../agent.ts';
import type { NewEvent } from '../event.ts';
import { putArtifact } from '../log/artifacts.ts';
import { beforeFirst, soundEvents } from '../log/event-line.ts';
import { cutProblem, type HeadMark, type Heads } from '../log/heads.ts';
import { missingLogProblem } from '../log/open-runs.ts';
import { logName, requireLogFile } from '../log/run-folder.ts';

/** What is there of a run's record, beside what was acknowledged. */
export function readRecord(runId: string, runsDir: string, heads: Heads): RecordState {
  const known = acknowledged(runId, heads);
  const folder = join(runsDir, runId);
  if (!existsSync(join(folder, logName))) {
    const what = known.problem ?? messageOf(missingLogProblem(runsDir, runId, known.record) ?? '');
    return state(runId, known.mark, null, what === '' ? null : what);
  }
  const part = soundPart(runId, folder);
  const problem = known.problem ?? part.broken ?? cutProblem(runId, known.record, part);
  return state(runId, known.mark, part, problem);
}

/**
 * The event with which a cut record goes on. What stands behind its last sound event is set aside, as an artifact, and taken out of
 * the log, which then ends there.
 * @throws Conflict (`record_whole`, `record_lost`)
 */
export function recovery(request: RecoveryRequest, runsDir: string, heads: Heads): NewEvent {
  const { run_id, by, reason } = request;
  const found = readRecord(run_id, runsDir, heads);
  if (found.problem === null) throw new Conflict('record_whole', `the record of run ${run_id} is whole`);
  if (found.kept === null || found.kept.seq === 0) {
    throw new Conflict('record_lost', `nothing is left of the record of run ${run_id} to go on from`, {
      hint: 'Restore it from a backup, or plan the issue again.',
    });
  }
  const folder = join(runsDir, run_id);
  const { rest, length } = soundPart(run_id, folder);
  const set_aside = rest.length === 0 ? null : { bytes: rest.length, artifact: putArtifact(folder, rest) };
  endLogAt(folder, length);
  const { acknowledged: lost, kept } = found;
  return { type: 'record_recovered', data: { by: by.name, reason, lost, kept, set_aside } };
}

function acknowledged(runId: string, heads: Heads) {
  try {
    const record = heads.read(runId);
    return { record, mark: record?.acknowledged ?? null, problem: null };
  } catch (error) {
    return { record: null, mark: null, problem: messageOf(error) };
  }
}

function state(
  run_id: string,
  mark: HeadMark | null,
  part: SoundPart | null,
  problem: string | null,
): RecordState {
  return {
    run_id,
    acknowledged: mark === null ? null : { seq: mark.seq, hash: mark.hash },
    last_type: mark?.type || null,
    kept: part?.head ?? null,
    bytes_behind: part?.rest.length ?? 0,
    problem,
    restorable: false,
    recovered: part?.recovered ?? null,
  };
}

type SoundPart = ReturnType<typeof soundPart>;

/** The events of a log up to the first that does not hold, and the bytes behind them. */
function soundPart(runId: string, folder: string) {
  requireLogFile(runId, folder);
  const log = readFileSync(join(folder, logName));
  const { events, length, problem } = soundEvents(log);
  const { seq, hash } = events.at(-1) ?? beforeFirst;
  const recovery = events.findLast((event) => event.type === 'record_recovered');
  return {
    head: { seq, hash },
    headKept: events.some(
      ({ type, data }) => type === 'head_adopted' || (type === 'run_created' && data.head_kept === true),
    ),
    recovered: recovery === undefined ? null : { seq: recovery.seq, at: recovery.at, by: recovery.data.by },
    hashOf: (seq: number) => events[seq - 1]?.hash ?? beforeFirst.hash,
    length,
    rest: log.subarray(length),
    /** Why the first line behind does not hold; null where nothing but an unfinished line is there. */
    broken: problem === null ? null : `${logName} line ${seq + 1}: ${messageOf(problem)}`,
  };
}

/** Durable when it returns. */
function endLogAt(folder: string, length: number): void {
  const fd = openSync(join(folder, logName), 'r+');
  try {
    ftruncateSync(fd, length);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
