import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crashPoint } from '#kit/crash-point.ts';
import { decode, Timestamp } from '#kit/decode.ts';
import { syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { messageOf } from '#kit/errors.ts';
import type { PruneRequest, PruneResult } from '../agent.ts';
import type { RunIndex } from './index/run-index.ts';
import { type ReadRow, unfinished } from './index/run-list.ts';
import type { Heads } from './log/heads.ts';
import type { Tombstone } from './log/open-runs.ts';
import { isRunId, logName, tombstoneName } from './log/run-folder.ts';
import type { Run } from './run.ts';
import { executorLease } from './run-store.ts';

/** What pruning needs of the store. */
export interface PruneAccess {
  readonly stateDir: string;
  readonly runsDir: string;
  readonly index: RunIndex;
  readonly heads: Heads;
  readonly now: () => string;
  readonly read: (runId: string) => Run;
  readonly row: ReadRow;
  readonly leaseHolder: (name: string) => { readonly pid: number; readonly host: string } | null;
}

/** Plans nobody decided about are kept for as long as an approval lasts by default. */
const undecidedDays = 7;

/**
 * Removes what is older than `before`: working copies first, then, if asked, runs, of which a tombstone stays. Leaves
 * alone what is under way, can be resumed, or waits for a person.
 */
export async function prune(access: PruneAccess, request: PruneRequest): Promise<PruneResult> {
  const before = decode(Timestamp, request.before, 'before');
  const limit = new Date(before).toISOString();
  const result: Collected = { clones: [], runs: [], kept: [], bytes: 0 };
  const runIds = access.index.reading(() => access.index.sizes());
  for (const { run_id, status } of runIds.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1))) {
    await setImmediate();
    if (status === 'pruned') result.bytes += finishPruned(access, run_id, request.dry_run);
    else pruneOne(access, run_id, limit, request, result);
  }
  const known = new Set(runIds.filter(({ status }) => status !== 'pruned').map(({ run_id }) => run_id));
  for (const { name, what } of access.index.problems()) {
    if (isRunId(name) && !known.has(name)) result.kept.push({ run_id: name, reason: what });
    known.add(name);
  }
  for (const path of leftovers(access, known, limit)) result.bytes += remove(path, request.dry_run);
  return result;
}

interface Collected {
  readonly clones: string[];
  readonly runs: string[];
  readonly kept: { run_id: string; reason: string }[];
  bytes: number;
}

function pruneOne(
  access: PruneAccess,
  runId: string,
  limit: string,
  request: PruneRequest,
  result: Collected,
): void {
  const clones = clonePaths(access.stateDir, runId);
  if (request.what === 'clones' && clones.length === 0) return;
  // Under the lock nobody can start what is about to be removed: taking a lease needs the same lock. Only what makes the
  // removal certain happens there; freeing the space comes after.
  const removed = access.index.locked(() => {
    const run = oldRun(access, runId, limit, result);
    if (run === null) return [];
    if (clones.length > 0) result.clones.push(runId);
    if (request.what === 'runs') result.runs.push(runId);
    const paths = request.what === 'runs' ? [...clones, join(access.runsDir, runId)] : clones;
    if (request.dry_run) return paths;
    if (request.what === 'runs') bury(access, run);
    return paths.map((path) => (clones.includes(path) ? setAside(path) : path));
  });
  for (const path of removed) {
    const isRun = path === join(access.runsDir, runId);
    result.bytes +=
      isRun && !request.dry_run ? removeAllButTombstone(path, false) : remove(path, request.dry_run);
  }
}

/** The run, if it is old enough and nothing speaks against removing it. */
function oldRun(access: PruneAccess, run_id: string, limit: string, { kept }: Collected): Run | null {
  try {
    const run = access.read(run_id);
    if (run.updated_at >= limit) return null;
    const reason = reasonToKeep(run, access.leaseHolder(executorLease(run_id)), access.now());
    if (reason === null) return run;
    kept.push({ run_id, reason });
  } catch (error) {
    kept.push({ run_id, reason: messageOf(error) });
  }
  return null;
}

/** Takes a folder out of the way in one step; a crash before it is removed leaves it to the next pruning. */
export function setAside(path: string): string {
  const aside = join(dirname(path), `.${basename(path)}.pruned`);
  rmSync(aside, { recursive: true, force: true });
  renameSync(path, aside);
  return aside;
}

/** @param holder who works on it now */
export function reasonToKeep(
  run: Run,
  holder: { readonly pid: number; readonly host: string } | null,
  now: string,
): string | null {
  if (holder !== null) return `process ${holder.pid} on ${holder.host} works on it`;
  if (run.status === 'interrupted')
    return `interrupted; ./core resume ${run.run_id} or ./core cancel ${run.run_id} first`;
  if (run.status === 'planning' || run.status === 'executing') return `still ${run.status}`;
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

/** Tombstone and head are durable before the log goes; with the log the run is gone, the rest is cleaning up. */
function bury(access: PruneAccess, run: Run): void {
  const folder = join(access.runsDir, run.run_id);
  const tombstone = tombstoneOf(run, access.now());
  writeFileDurably(join(folder, tombstoneName), `${JSON.stringify(tombstone, null, 2)}\n`);
  crashPoint('tombstone_written');
  access.heads.acknowledge(run.run_id, { ...run.head, type: '' }, true);
  access.heads.sync(run.run_id);
  crashPoint('head_pruned');
  rmSync(join(folder, logName));
  syncFolder(folder);
  crashPoint('run_buried');
  const row = access.row(run.run_id);
  if (row !== null && !('what' in row)) access.index.tryPut(row);
}

export function tombstoneOf({ run_id, head, status, request }: Run, pruned_at: string): Tombstone {
  const { forge, owner, repo, number } = request;
  return { run_id, head: head.hash, events: head.seq, status, pruned_at, forge, owner, repo, number };
}

/** A crash may have left something beside the tombstone. */
function finishPruned(access: PruneAccess, runId: string, dryRun: boolean): number {
  const folder = join(access.runsDir, runId);
  if (!existsSync(join(folder, tombstoneName)) || existsSync(join(folder, logName))) return 0;
  return removeAllButTombstone(folder, dryRun);
}

export function removeAllButTombstone(folder: string, dryRun: boolean): number {
  let bytes = 0;
  for (const name of readdirSync(folder)) {
    if (name !== tombstoneName) bytes += remove(join(folder, name), dryRun);
  }
  return bytes;
}

export function clonePaths(stateDir: string, runId: string): string[] {
  return ['', '.pids']
    .map((suffix) => join(stateDir, 'clones', runId + suffix))
    .filter((path) => existsSync(path));
}

/** Clones of runs that are not there any more, and run folders that a crash left unfinished. */
function leftovers(access: PruneAccess, known: ReadonlySet<string>, limit: string): string[] {
  const clones = join(access.stateDir, 'clones');
  const orphans = (existsSync(clones) ? readdirSync(clones) : []).filter((name) => {
    const runId = name
      .replace(/^\./, '')
      .replace(/\.pruned$/, '')
      .replace(/\.pids$/, '');
    return isRunId(runId) && (name.startsWith('.') || !known.has(runId));
  });
  const unmade = readdirSync(access.runsDir).filter((name) => unfinished.test(name));
  return [
    ...orphans.map((name) => join(clones, name)),
    ...unmade.map((name) => join(access.runsDir, name)),
  ].filter((path) => lstatSync(path).mtime.toISOString() < limit);
}

export function remove(path: string, dryRun: boolean): number {
  const bytes = sizeOf(path);
  if (!dryRun) rmSync(path, { recursive: true, force: true });
  return bytes;
}

/** Bytes in files, links not followed. */
function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
