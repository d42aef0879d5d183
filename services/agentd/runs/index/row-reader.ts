import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import { EventLog } from '../log/event-log.ts';
import type { HeadRecord, Heads } from '../log/heads.ts';
import { missingLogProblem, readTombstone, requireWhole, type Tombstone } from '../log/open-runs.ts';
import { logName, logStamp } from '../log/run-folder.ts';
import { type Run, summaryOf } from '../run.ts';
import { type IndexRow, namesText } from './run-index.ts';
import type { ReadRow } from './run-list.ts';

/** Reads one run folder for the index. Never throws: what cannot be read is returned as a problem. */
export function rowReader(runsDir: string, heads: Heads): ReadRow {
  return (runId) => {
    const stamp = logStamp(runsDir, runId);
    try {
      const known = heads.read(runId);
      return stamp === 'missing' ? rowWithoutLog(runsDir, runId, known) : rowFromLog(runsDir, runId, known);
    } catch (error) {
      return { name: runId, stamp, what: messageOf(error) };
    }
  };
}

function rowFromLog(runsDir: string, runId: string, known: HeadRecord | null): IndexRow {
  const log = new EventLog(runId, join(runsDir, runId));
  log.refresh();
  requireWhole(runId, known, log);
  return indexRow(log.run, log.size + log.torn.length);
}

function rowWithoutLog(runsDir: string, runId: string, known: HeadRecord | null): ReturnType<ReadRow> {
  const problem = missingLogProblem(runsDir, runId, known);
  if (problem !== null) throw problem;
  if (!existsSync(join(runsDir, runId))) return null;
  const tombstone = readTombstone(join(runsDir, runId));
  if (tombstone !== null) return prunedRow(tombstone);
  return { name: runId, stamp: 'missing', what: `runs/${runId} is no run: it has no ${logName}` };
}

export function indexRow(run: Run, size: number): IndexRow {
  return { ...summaryOf(run), status: run.status, size, ...peopleOf(run) };
}

function peopleOf({ request, plan, actions }: Run): Pick<IndexRow, 'asked_by' | 'decided_by'> {
  const { requested_by, trigger } = request;
  const asked = [requested_by, trigger?.actor ?? requested_by, ...(plan?.approval_terms?.requesters ?? [])];
  const decided = actions.flatMap(({ decisions }) =>
    decisions
      .filter(({ standing }) => standing === undefined)
      .flatMap(({ approver, person }) => [approver, person?.name ?? approver]),
  );
  return { asked_by: namesText(asked), decided_by: namesText(decided) };
}

export function prunedRow({ run_id, forge, owner, repo, number, pruned_at }: Tombstone): IndexRow {
  return {
    run_id,
    size: -1,
    status: 'pruned',
    forge,
    owner,
    repo,
    number,
    title: null,
    role: '',
    created_at: pruned_at,
    updated_at: pruned_at,
    highest_risk: null,
    waiting: 0,
    waits_for: null,
    actions: 0,
    asked_by: '',
    decided_by: '',
  };
}
