import { existsSync, readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makePrivateFolder, replaceFile, syncFolder } from '#kit/durable-file.ts';
import type { Database, Sql } from '#kit/postgres/database.ts';
import { soundEvents } from '../log/event-line.ts';
import { type HeadMark, Heads } from '../log/heads.ts';
import { artifactsName, logName } from '../log/run-folder.ts';
import { writeViews } from '../views/views.ts';
import type { RunArtifacts } from './run-artifacts.ts';
import { linesOf } from './stored-runs.ts';

export interface MirrorOptions {
  readonly stateDir: string;
  readonly runId: string;
  /** Also where a file of the name of an artifact is there already. */
  readonly rewrite?: boolean;
}

/**
 * Writes the run's folder and its head as a store of files keeps them, from what the database holds. A folder that is a mirror can be
 * deleted at any time, and read without the database.
 */
export async function writeMirror(
  database: Database,
  contents: RunArtifacts,
  options: MirrorOptions,
): Promise<void> {
  const { stateDir, runId } = options;
  await database.transaction(async (sql) => {
    // One after another, so that no older state overwrites a newer one.
    const folder = `mirror ${hostname()} ${stateDir} ${runId}`;
    await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [folder]);
    const written = await writeRecord(sql, contents, options, (head) => ({ after: 0, upTo: head.seq }));
    if (written !== null) writeViews(runId, written.path, written.events);
  });
}

/** Everything that the database holds of a run now, sound or not, without views. */
export async function writeEvidence(
  database: Database,
  contents: RunArtifacts,
  options: MirrorOptions,
): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await writeRecord(sql, contents, options, () => undefined);
  });
}

/** @returns null of a run that the database does not have */
async function writeRecord(
  sql: Sql,
  contents: RunArtifacts,
  { stateDir, runId, rewrite = false }: MirrorOptions,
  linesFor: (head: HeadMark) => Parameters<typeof linesOf>[2],
) {
  const [head] = await sql.query<HeadMark>('SELECT seq, hash, type FROM runs WHERE run_id = $1', [runId]);
  if (head === undefined) return null;
  const path = join(stateDir, 'runs', runId);
  const artifacts = join(path, artifactsName);
  makePrivateFolder(join(stateDir, 'runs'));
  makePrivateFolder(path);
  makePrivateFolder(artifacts);
  const stored = await sql.query<{ digest: string }>('SELECT digest FROM run_artifacts WHERE run_id = $1', [
    runId,
  ]);
  const named = new Set(stored.map(({ digest }) => digest));
  for (const other of readdirSync(artifacts))
    if (!named.has(other)) rmSync(join(artifacts, other), { recursive: true });
  for (const digest of named) {
    if (!rewrite && existsSync(join(artifacts, digest))) continue;
    await contents.write(sql, runId, digest, join(artifacts, digest));
  }
  const log = Buffer.from((await linesOf(sql, runId, linesFor(head))).map((line) => `${line}\n`).join(''));
  replaceFile(join(path, logName), log);
  syncFolder(path);
  const heads = new Heads(stateDir);
  heads.create(runId);
  heads.acknowledge(runId, head);
  heads.sync(runId);
  return { path, events: soundEvents(log).events };
}
