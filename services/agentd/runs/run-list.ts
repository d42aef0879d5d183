import { statSync } from 'node:fs';
import { join } from 'node:path';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { InvalidInput } from '#kit/errors.ts';
import { type ReadRow, refreshFolder, refreshRuns } from './index-refresh.ts';
import { type RunStatus, type RunSummary, runStatuses } from './run.ts';
import { isRunId, logName } from './run-folder.ts';
import type { IndexRow, RowFilter, RunIndex } from './run-index.ts';
import { isActive } from './run-status.ts';
import type { RunPage, RunQuery } from './run-store.ts';

/** What listing needs of the store. */
export interface Listing {
  readonly index: RunIndex;
  readonly runsDir: string;
  readonly withHead: () => readonly string[];
  readonly reader: () => Promise<ReadRow>;
  /** Whether somebody living holds the executor's lease of the run. */
  readonly executorLives: (runId: string) => boolean;
}

/** Shows nothing stale: every row is compared with its event log, and active ones with the lease of their executor. */
export async function listRuns(listing: Listing, query: RunQuery): Promise<RunPage> {
  const { index, runsDir, withHead, reader } = listing;
  const { limit, filter, before } = checkQuery(query);
  await refreshFolder(index, runsDir, withHead, reader);
  // A row that is behind its log could be missing from a list by status, so all of them are compared first.
  await refreshRuns(index, query.status === undefined ? [] : staleRuns(listing, index.sizes()), reader);
  await refreshRuns(index, changedProblems(listing), reader);

  const runs: RunSummary[] = [];
  let last = before;
  while (runs.length <= limit) {
    const rows = index.rows(filter, last, limit + 1);
    const stale = staleRuns(listing, rows);
    const fresh = await refreshRuns(index, stale, reader);
    for (const row of rows) {
      const shown = shownAs(listing, stale.includes(row.run_id) ? fresh.get(row.run_id) : row);
      if (shown !== null && (query.status === undefined || shown.status === query.status)) runs.push(shown);
    }
    if (rows.length <= limit) break;
    last = rows.at(-1)!.run_id;
  }
  const page = runs.slice(0, limit);
  return {
    runs: page,
    next_cursor: runs.length > limit ? encodeCursor(page.at(-1)!.run_id) : null,
    problems: index.problems().map(({ what }) => what),
  };
}

function checkQuery(query: RunQuery): {
  readonly limit: number;
  readonly filter: RowFilter;
  readonly before: string | null;
} {
  const { limit, status } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw new InvalidInput('invalid_limit', `limit is ${limit}: must be an integer from 1 to 100`);
  }
  if (status !== undefined && !runStatuses.includes(status)) {
    throw new InvalidInput(
      'invalid_status',
      `status is '${status}': must be one of ${runStatuses.join(', ')}`,
    );
  }
  const filter = {
    statuses: status === undefined ? null : loggedStatuses(status),
    forge: query.forge ?? null,
    // Runs of smoke tests are shown to whoever asks for their forge.
    without_forge: query.forge === undefined ? smokeForge.name : null,
    owner: query.owner ?? null,
    repo: query.repo ?? null,
    number: query.number ?? null,
  };
  return { limit, filter, before: query.cursor === undefined ? null : decodeCursor(query.cursor) };
}

/** What the log may call a run that is shown with this status. */
function loggedStatuses(status: RunStatus): readonly RunStatus[] {
  return status === 'interrupted' ? runStatuses.filter(isActive) : [status];
}

function staleRuns(
  { runsDir }: Listing,
  rows: readonly { readonly run_id: string; readonly size: number }[],
): string[] {
  return rows.filter(({ run_id, size }) => logSize(runsDir, run_id) !== size).map(({ run_id }) => run_id);
}

function changedProblems({ index, runsDir }: Listing): string[] {
  return index
    .problems()
    .filter(({ name, stamp }) => stamp !== '' && stamp !== logStamp(runsDir, name))
    .map(({ name }) => name);
}

/** null for what became no run since: pruned, gone, or told among the problems. */
function shownAs(listing: Listing, indexed: IndexRow | undefined): RunSummary | null {
  if (indexed === undefined || indexed.status === 'pruned') return null;
  const { size: _, status, ...row } = indexed;
  const lives = !isActive(status) || listing.executorLives(row.run_id);
  return { ...row, status: lives ? status : 'interrupted' };
}

/** Bytes of an event log; -1 without one. */
export function logSize(runsDir: string, runId: string): number {
  return statSync(join(runsDir, runId, logName), { throwIfNoEntry: false })?.size ?? -1;
}

/** Recognises a log that could not be read: while nothing about it changes there is no use in trying again. */
export function logStamp(runsDir: string, runId: string): string {
  const stats = statSync(join(runsDir, runId, logName), { throwIfNoEntry: false });
  return stats === undefined ? 'missing' : `${stats.size}:${stats.mtimeMs}`;
}

function encodeCursor(runId: string): string {
  return Buffer.from(runId).toString('base64url');
}

function decodeCursor(cursor: string): string {
  const runId = Buffer.from(cursor, 'base64url').toString();
  if (isRunId(runId)) return runId;
  throw new InvalidInput(
    'invalid_cursor',
    `cursor '${cursor.slice(0, 80)}' is none of ours; leave it out to start with the newest`,
  );
}
