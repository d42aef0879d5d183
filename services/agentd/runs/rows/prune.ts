import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import type { Database } from '#kit/database/database.ts';
import type { FencedLeases } from '#kit/database/fenced-leases.ts';
import { decode, Timestamp } from '#kit/decode.ts';
import { writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import type { PruneRequest, PruneResult } from '../../agent.ts';
import { isRunId, tombstoneName } from '../log/run-folder.ts';
import { clonePaths, reasonToKeep, remove, removeAllButTombstone, setAside, tombstoneOf } from '../prune.ts';
import type { Run } from '../run.ts';
import { executorLease } from '../run-store.ts';
import { deleteUnnamed } from './unnamed-objects.ts';

export interface PruneRowsAccess {
  readonly database: Database;
  /** The bucket of large artifacts. */
  readonly objects: ObjectStore | null;
  readonly leases: FencedLeases;
  readonly stateDir: string;
  readonly now: () => string;
  readonly read: (runId: string) => Promise<Run>;
}

type Collected = {
  -readonly [K in keyof PruneResult]: PruneResult[K] extends readonly (infer T)[] ? T[] : PruneResult[K];
};

/**
 * As the pruning of folders: rows of old runs go but for a tombstone, and of this host their clones and mirrors. Another host's go with
 * its own pruning.
 */
export async function pruneRows(access: PruneRowsAccess, request: PruneRequest): Promise<PruneResult> {
  const { database, objects, stateDir } = access;
  const limit = new Date(decode(Timestamp, request.before, 'before')).toISOString();
  const result: Collected = { clones: [], runs: [], kept: [], bytes: 0 };
  const old = await database.query<{ run_id: string }>(
    "SELECT run_id FROM runs WHERE status <> 'pruned' AND updated_at < $1 ORDER BY run_id",
    [limit],
  );
  for (const { run_id } of old) {
    const clones = clonePaths(stateDir, run_id);
    if (request.what === 'runs' || clones.length > 0) await pruneOne(access, run_id, clones, request, result);
  }
  for (const path of await leftMirrors(access)) result.bytes += removeAllButTombstone(path, request.dry_run);
  for (const path of await leftClones(access)) result.bytes += remove(path, request.dry_run);
  if (objects !== null && !request.dry_run) await deleteUnnamed(database, objects);
  return result;
}

async function pruneOne(
  access: PruneRowsAccess,
  runId: string,
  clones: readonly string[],
  { what, dry_run }: PruneRequest,
  result: Collected,
): Promise<void> {
  try {
    // Nobody starts on it meanwhile.
    const lease = await access.leases.acquire(executorLease(runId));
    try {
      const run = await access.read(runId);
      const reason = reasonToKeep(run, null, access.now());
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

/** @returns bytes of what went */
async function bury({ database, leases, stateDir, now }: PruneRowsAccess, run: Run): Promise<number> {
  const tombstone = tombstoneOf(run, now());
  const { run_id } = run;
  const bytes = await bytesOf(database, run_id);
  await database.transaction(async (sql) => {
    await leases.fence(sql, executorLease(run_id));
    // Whoever names an object for it holds this row.
    await sql.query('SELECT 1 FROM runs WHERE run_id = $1 FOR UPDATE', [run_id]);
    await sql.query('DELETE FROM run_events WHERE run_id = $1', [run_id]);
    await sql.query('DELETE FROM run_artifacts WHERE run_id = $1', [run_id]);
    await sql.query("UPDATE run_objects SET state = 'going' WHERE run_id = $1 AND state = 'named'", [run_id]);
    await sql.query("UPDATE runs SET tombstone = $2, status = 'pruned', size = -1 WHERE run_id = $1", [
      run_id,
      JSON.stringify(tombstone),
    ]);
  });
  crashPoint('run_buried');
  const folder = join(stateDir, 'runs', run_id);
  if (!existsSync(folder)) return bytes;
  writeFileDurably(join(folder, tombstoneName), `${JSON.stringify(tombstone, null, 2)}\n`);
  return bytes + removeAllButTombstone(folder, false);
}

async function bytesOf(database: Database, runId: string): Promise<number> {
  const [row] = await database.query<{ bytes: string }>(
    `SELECT (SELECT coalesce(sum(octet_length(line) + 1), 0) FROM run_events WHERE run_id = $1)
          + (SELECT coalesce(sum(length(content)), 0) FROM run_artifacts WHERE run_id = $1)
          + (SELECT coalesce(sum(bytes), 0) FROM run_objects WHERE run_id = $1 AND state = 'named') AS bytes`,
    [runId],
  );
  return Number(row?.bytes ?? 0);
}

/** Mirrors on this host of runs that another host pruned. */
async function leftMirrors({ database, stateDir }: PruneRowsAccess): Promise<string[]> {
  const pruned = await prunedOf(database, runsIn(join(stateDir, 'runs')));
  return pruned.map((runId) => join(stateDir, 'runs', runId));
}

/** Clones on this host of runs that another host pruned. */
async function leftClones({ database, stateDir }: PruneRowsAccess): Promise<string[]> {
  const pruned = await prunedOf(database, runsIn(join(stateDir, 'clones')));
  return pruned.flatMap((runId) => clonePaths(stateDir, runId));
}

function runsIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter(isRunId) : [];
}

async function prunedOf(database: Database, runIds: readonly string[]): Promise<string[]> {
  if (runIds.length === 0) return [];
  const rows = await database.query<{ run_id: string }>(
    "SELECT run_id FROM runs WHERE status = 'pruned' AND run_id = ANY($1)",
    [runIds],
  );
  return rows.map(({ run_id }) => run_id);
}
