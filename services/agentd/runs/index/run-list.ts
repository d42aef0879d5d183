import { readdirSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { risks } from '#kit/contracts/vocabulary.ts';
import { InvalidInput } from '#kit/errors.ts';
import { isRunId, logSize, logStamp, runsWithHead } from '../log/run-folder.ts';
import { isActive, isFailedPlanning, type RunStatus, type RunSummary, runStatuses } from '../run.ts';
import type { RunPage, RunQuery } from '../run-store.ts';
import type { IndexRow, Problem, RowFilter, RunIndex } from './run-index.ts';

/** What listing needs of the store. */
export interface Listing {
  readonly index: RunIndex;
  readonly stateDir: string;
  readonly runsDir: string;
  /** Loads what reads event logs; called only when there is something to read. */
  readonly reader: () => Promise<ReadRow>;
  /** True if a living process holds the executor's lease of the run. */
  readonly executorLives: (runId: string) => boolean;
}

/** Shows nothing stale: every row is compared with its event log, and active ones with the lease of their executor. */
export async function listRuns(listing: Listing, query: RunQuery): Promise<RunPage> {
  const { index } = listing;
  const { limit, filter, before } = checkQuery(query);
  await refreshFolder(listing);
  // A row that is behind its log could be missing from a list by what changes, so all of them are compared first.
  const { status, text, risk, asker, decider } = query;
  const byChanging = [status, text, risk, asker, decider].some((value) => value !== undefined);
  await refreshRuns(listing, byChanging ? staleRuns(listing, index.sizes()) : []);
  await refreshRuns(listing, changedProblems(listing));

  const runs: RunSummary[] = [];
  let last = before;
  while (runs.length <= limit) {
    const rows = index.rows(filter, last, limit + 1);
    const stale = staleRuns(listing, rows);
    const fresh = await refreshRuns(listing, stale);
    for (const row of rows) {
      const shown = shownAs(listing, stale.includes(row.run_id) ? fresh.get(row.run_id) : row);
      if (shown !== null && fits(shown, query)) runs.push(shown);
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

export function checkQuery(query: RunQuery): {
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
    // Runs of smoke tests are listed only with their forge as a filter.
    without_forge: query.forge === undefined ? smokeForge.name : null,
    owner: query.owner ?? null,
    repo: query.repo ?? null,
    number: query.number ?? null,
    words: (query.text ?? '')
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ''),
    since: query.since ?? null,
    until: query.until ?? null,
    risks: query.risk === undefined ? null : risks.slice(risks.indexOf(query.risk)),
    asker: query.asker ?? null,
    decider: query.decider ?? null,
    among: query.among ?? null,
    without_failed_plannings: query.without_failed_plannings === true,
  };
  return { limit, filter, before: query.cursor === undefined ? null : decodeCursor(query.cursor) };
}

/** Once more, for what was read again. */
export function fits(run: RunSummary, { status, without_failed_plannings }: RunQuery): boolean {
  if (without_failed_plannings === true && isFailedPlanning(run)) return false;
  return status === undefined || run.status === status;
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

/** null for what is no run any more: pruned, gone, or listed among the problems. */
function shownAs(listing: Listing, indexed: IndexRow | undefined): RunSummary | null {
  if (indexed === undefined || indexed.status === 'pruned') return null;
  const { size: _, asked_by: _asked, decided_by: _decided, status, ...row } = indexed;
  const lives = !isActive(status) || listing.executorLives(row.run_id);
  return { ...row, status: lives ? status : 'interrupted' };
}

export function encodeCursor(runId: string): string {
  return Buffer.from(runId).toString('base64url');
}

function decodeCursor(cursor: string): string {
  const runId = Buffer.from(cursor, 'base64url').toString();
  if (isRunId(runId)) return runId;
  throw new InvalidInput(
    'invalid_cursor',
    `cursor '${cursor.slice(0, 80)}' is unknown; leave it out to start with the newest`,
  );
}

/** What a run folder holds now: a row for the index, or why there is none. Null when the folder is gone. */
export type ReadRow = (runId: string) => IndexRow | Problem | null;

const batch = 100;

/** Folders of runs that are being made; see `createRunFolder`. */
export const unfinished = /^\.run_[0-9a-f-]{36}\.new$/;

/**
 * Brings the index up to the runs folder: new folders in, vanished ones out, among the problems what is no run, and runs whose
 * folder is gone though their head is kept.
 * Costs one stat while nothing was added or removed.
 */
export async function refreshFolder(listing: Listing): Promise<void> {
  const { index, runsDir } = listing;
  const stamp = folderStamp(runsDir);
  if (stamp.text === index.reading(() => index.scannedFolder())) return;
  const { unread, gone, foreign } = compare(listing);
  if (gone.length > 0 || foreign.length > 0) {
    index.locked(() => {
      for (const name of gone) index.remove(name);
      for (const problem of foreign) index.putProblem(problem);
    });
  }
  await refreshRuns(listing, unread);
  if (stamp.settled) index.locked(() => index.setScannedFolder(stamp.text));
}

/** Reads these runs again and returns the rows of those that can be shown. */
async function refreshRuns(
  { index, reader }: Listing,
  runIds: readonly string[],
): Promise<Map<string, IndexRow>> {
  const rows = new Map<string, IndexRow>();
  if (runIds.length === 0) return rows;
  const readRow = await reader();
  for (let start = 0; start < runIds.length; start += batch) {
    if (start > 0) await setImmediate();
    index.locked(() => {
      for (const runId of runIds.slice(start, start + batch)) {
        const found = readRow(runId);
        if (found === null) index.remove(runId);
        else if ('what' in found) index.putProblem(found);
        else {
          index.put(found);
          rows.set(runId, found);
        }
      }
    });
  }
  return rows;
}

/**
 * The folder's time of change. Not `settled` while it is so young that a change right after could carry the same time.
 */
function folderStamp(runsDir: string): { readonly text: string; readonly settled: boolean } {
  const now = BigInt(Date.now()) * 1_000_000n;
  const { ino, mtimeNs } = statSync(runsDir, { bigint: true });
  return { text: `${ino}:${mtimeNs}`, settled: now - mtimeNs > 100_000_000n };
}

function compare({ index, stateDir, runsDir }: Listing): {
  readonly unread: string[];
  readonly gone: string[];
  readonly foreign: Problem[];
} {
  const problems = new Map(index.problems().map((problem) => [problem.name, problem]));
  const known = new Set(index.sizes().map(({ run_id }) => run_id));
  const present = new Set<string>();
  const unread: string[] = [];
  const foreign: Problem[] = [];
  for (const entry of readdirSync(runsDir, { withFileTypes: true })) {
    const { name } = entry;
    if (unfinished.test(name)) continue;
    const isRun = entry.isDirectory() && isRunId(name);
    if (isRun && !known.has(name) && !problems.has(name)) unread.push(name);
    if (!isRun && !problems.has(name)) foreign.push(foreignEntry(name, entry.isDirectory()));
    present.add(name);
    known.delete(name);
    problems.delete(name);
  }
  // Runs with a head must be there, unless they were pruned.
  for (const runId of runsWithHead(stateDir)) {
    if (!present.has(runId) && !problems.delete(runId)) unread.push(runId);
  }
  return { unread, gone: [...known, ...problems.keys()], foreign };
}

function foreignEntry(name: string, isFolder: boolean): Problem {
  const why = isFolder ? 'its name is not run_ and a UUIDv7' : 'it is not a folder';
  return { name, stamp: '', what: `runs/${JSON.stringify(name).slice(1, -1)} is no run: ${why}` };
}
