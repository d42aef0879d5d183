import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { changeNumber } from '#kit/database/change-numbers.ts';
import { type Database, rowLock } from '#kit/database/database.ts';
import type { FencedLeases } from '#kit/database/fenced-leases.ts';
import { decode, Timestamp } from '#kit/decode.ts';
import { writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import type { PruneRequest, PruneResult } from '../agent.ts';
import { isRunId, tombstoneName } from './log/run-folder.ts';
import { tombstoneOf } from './log/tombstone.ts';
import { type Behind, behindText } from './mirror/behind.ts';
import { logStats } from './mirror/run-folder-log.ts';
import { whichArePruned } from './rows/run-rows.ts';
import { deleteUnnamed } from './rows/unnamed-objects.ts';
import { isActive, type Run } from './run.ts';
import { executorLease } from './run-store.ts';

/** Dependencies of pruning. */
export interface PruneAccess {
  readonly database: Database;
  /** The bucket of large artifacts. */
  readonly objects: ObjectStore | null;
  readonly leases: FencedLeases;
  readonly stateDir: string;
  readonly now: () => string;
  readonly read: (runId: string) => Promise<Run>;
  /** Events that this host's folder has and the database lacks; null if it lacks none. */
  readonly behind: (runId: string) => Promise<Behind | null>;
}

type Collected = {
  -readonly [K in keyof PruneResult]: PruneResult[K] extends readonly (infer T)[] ? T[] : PruneResult[K];
};

/** Time that an undecided plan is kept, in days: the default validity of an approval. */
const undecidedDays = 7;

/**
 * Removes this host's working copies that are older than `before`, and also runs, if asked. A pruned run leaves a tombstone. Keeps
 * runs that are in progress, can be resumed, or wait for a person. Other hosts prune their own clones and folders.
 */
export async function prune(access: PruneAccess, request: PruneRequest): Promise<PruneResult> {
  const { database, objects, stateDir } = access;
  const limit = new Date(decode(Timestamp, request.before, 'before')).toISOString();
  const result: Collected = { clones: [], runs: [], kept: [], bytes: 0 };
  const old = await database.query<{ run_id: string }>(
    'SELECT run_id FROM runs WHERE tombstone IS NULL AND updated_at < $1 ORDER BY run_id',
    [limit],
  );
  for (const { run_id } of old) {
    const clones = clonePaths(stateDir, run_id);
    if (request.what === 'runs' || clones.length > 0) await pruneOne(access, run_id, clones, request, result);
  }
  for (const path of await leftFolders(access)) result.bytes += removeAllButTombstone(path, request.dry_run);
  for (const path of await leftClones(access, limit)) result.bytes += remove(path, request.dry_run);
  if (objects !== null && !request.dry_run) await deleteUnnamed(database, objects);
  return result;
}

async function pruneOne(
  access: PruneAccess,
  runId: string,
  clones: readonly string[],
  { what, dry_run }: PruneRequest,
  result: Collected,
): Promise<void> {
  try {
    // Keeps other processes from starting work on the run.
    const lease = await access.leases.acquire(executorLease(runId));
    try {
      const run = await access.read(runId);
      const behind = await access.behind(runId);
      const reason = behind === null ? reasonToKeep(run, access.now()) : behindText(runId, behind);
      if (reason !== null) return void result.kept.push({ run_id: runId, reason });
      if (clones.length > 0) result.clones.push(runId);
      if (what === 'runs') result.runs.push(runId);
      if (what === 'runs' && dry_run) result.bytes += await bytesOf(access.database, runId);
      if (what === 'runs' && !dry_run) result.bytes += await bury(access, run);
      for (const path of clones) result.bytes += remove(dry_run ? path : setAside(path), dry_run);
    } finally {
      await lease.release();
    }
  } catch (error) {
    if (codeOf(error) === 'database_unavailable') throw error;
    result.kept.push({ run_id: runId, reason: messageOf(error) });
  }
}

/** Renames a folder in one step. If a crash prevents its removal, the next pruning removes it. */
function setAside(path: string): string {
  const aside = join(dirname(path), `.${basename(path)}.pruned`);
  rmSync(aside, { recursive: true, force: true });
  renameSync(path, aside);
  return aside;
}

/** @param run read under the executor's lease, so no other process works on it */
function reasonToKeep(run: Run, now: string): string | null {
  if (run.status === 'interrupted' || isActive(run.status))
    return `interrupted; ./core resume ${run.run_id} or ./core cancel ${run.run_id} first`;
  if (run.undo?.complete === true) return null;
  if (run.undo !== null && !run.undo.finished)
    return `an undo was started and did not finish; ./core undo ${run.run_id}`;
  if (['cancelled', 'undone', 'superseded'].includes(run.status)) return null;
  const approved = run.actions.find(
    ({ state, decision }) =>
      ['pending', 'refused', 'blocked'].includes(state) && (decision?.expires_at ?? '') > now,
  );
  if (approved !== undefined) {
    return `action ${approved.definition.ordinal} is approved until ${approved.decision!.expires_at}`;
  }
  const since = new Date(Date.parse(now) - undecidedDays * 86_400_000).toISOString();
  return run.status === 'awaiting_approval' && run.updated_at > since ? 'awaits approval' : null;
}

/** @returns number of removed bytes */
async function bury({ database, leases, stateDir, now }: PruneAccess, run: Run): Promise<number> {
  const tombstone = tombstoneOf(run, now());
  const { run_id } = run;
  const bytes = await bytesOf(database, run_id);
  await database.transaction(async (sql) => {
    await leases.fence(sql, executorLease(run_id));
    // Waits for processes that are storing an artifact of the run: they hold this row.
    await sql.query(`SELECT 1 AS run FROM runs WHERE run_id = $1 ${rowLock(sql, 'FOR UPDATE')}`, [run_id]);
    await sql.query('DELETE FROM run_events WHERE run_id = $1', [run_id]);
    await sql.query('DELETE FROM run_artifacts WHERE run_id = $1', [run_id]);
    await sql.query("UPDATE run_objects SET state = 'going' WHERE run_id = $1 AND state = 'named'", [run_id]);
    await sql.query(
      `UPDATE runs SET tombstone = $2, status = 'pruned', size = -1, changed_in = ${changeNumber(sql, 'runs')} WHERE run_id = $1`,
      [run_id, JSON.stringify(tombstone)],
    );
  });
  crashPoint('run_buried');
  const folder = join(stateDir, 'runs', run_id);
  if (!existsSync(folder)) return bytes;
  writeFileDurably(join(folder, tombstoneName), `${JSON.stringify(tombstone, null, 2)}\n`);
  return bytes + removeAllButTombstone(folder, false);
}

async function bytesOf(database: Database, runId: string): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    `SELECT CAST((SELECT coalesce(sum(octet_length(line) + 1), 0) FROM run_events WHERE run_id = $1)
          + (SELECT coalesce(sum(length(content)), 0) FROM run_artifacts WHERE run_id = $1)
          + (SELECT coalesce(sum(bytes), 0) FROM run_objects WHERE run_id = $1 AND state = 'named') AS bigint) AS bytes`,
    [runId],
  );
  return row?.bytes ?? 0;
}

/** This host's folders of runs that another host pruned, or that were pruned before a crash. */
async function leftFolders({ database, stateDir }: PruneAccess): Promise<string[]> {
  const folder = join(stateDir, 'runs');
  const there = await whichArePruned(database, runsIn(folder));
  return [...there].flatMap(([runId, isPruned]) => (isPruned ? [join(folder, runId)] : []));
}

/**
 * This host's clones of pruned or unknown runs, and clones that were set aside before a crash. Excludes clones of runs that the
 * database lost, because these runs may be restored.
 */
async function leftClones({ database, stateDir }: PruneAccess, limit: string): Promise<string[]> {
  const folder = join(stateDir, 'clones');
  const named = (existsSync(folder) ? readdirSync(folder) : []).flatMap((name) => {
    const runId = name
      .replace(/^\./, '')
      .replace(/\.pruned$/, '')
      .replace(/\.pids$/, '');
    return isRunId(runId) ? [{ path: join(folder, name), runId, isAside: name.startsWith('.') }] : [];
  });
  const there = await whichArePruned(database, [...new Set(named.map(({ runId }) => runId))]);
  const isOld = (path: string) => lstatSync(path).mtime.toISOString() < limit;
  return named
    .filter(({ path, runId, isAside }) => {
      const isUnknown = !there.has(runId) && logStats({ stateDir, runId }) === null;
      return there.get(runId) === true || ((isAside || isUnknown) && isOld(path));
    })
    .map(({ path }) => path);
}

function runsIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter(isRunId) : [];
}

function removeAllButTombstone(folder: string, dryRun: boolean): number {
  let bytes = 0;
  for (const name of readdirSync(folder)) {
    if (name !== tombstoneName) bytes += remove(join(folder, name), dryRun);
  }
  return bytes;
}

function clonePaths(stateDir: string, runId: string): string[] {
  return ['', '.pids']
    .map((suffix) => join(stateDir, 'clones', runId + suffix))
    .filter((path) => existsSync(path));
}

function remove(path: string, dryRun: boolean): number {
  const bytes = sizeOf(path);
  if (!dryRun) rmSync(path, { recursive: true, force: true });
  return bytes;
}

/** Number of bytes in files. Does not follow links. */
function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
