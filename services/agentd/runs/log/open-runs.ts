import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { uuidv7 } from 'uuidv7';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson, NonEmptyString, nullable, Sha256, Timestamp } from '#kit/decode.ts';
import { makePrivateFolder, syncFolder, writeAll } from '#kit/durable-file.ts';
import { codeOf, NotFound } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { RunRequest } from '../event.ts';
import type { Run } from '../run.ts';
import { putArtifact } from './artifacts.ts';
import { beforeFirst } from './event-line.ts';
import { EventLog, writeLines } from './event-log.ts';
import { fold } from './fold.ts';
import { cutProblem, type HeadRecord, type Heads, recordCut } from './heads.ts';
import { artifactsName, logName, tombstoneName } from './run-folder.ts';

const maxLogs = 64;

/** The event logs that were used last, read and folded. */
export class OpenRuns {
  readonly #runsDir: string;
  readonly #heads: Heads;
  readonly #logs = new Map<string, EventLog>();

  constructor(runsDir: string, heads: Heads) {
    this.#runsDir = runsDir;
    this.#heads = heads;
  }

  /**
   * The log of a run, up to date and with everything that was ever acknowledged.
   * @throws NotFound (`run_not_found`, `run_pruned`), Failed (`run_damaged`), Conflict (`record_cut`)
   */
  fresh(runId: string): EventLog {
    try {
      return this.#whole(runId);
    } catch (error) {
      // What another process was just writing is whole when it is read again.
      if (codeOf(error) !== 'record_cut') throw error;
      return this.#whole(runId);
    }
  }

  /** The head is read first: the log only grows meanwhile. */
  #whole(runId: string): EventLog {
    const known = this.#heads.read(runId);
    const log = this.asFound(runId, known);
    requireWhole(runId, known, log);
    return log;
  }

  /** The log as it stands, whatever was acknowledged. */
  asFound(runId: string, known: HeadRecord | null): EventLog {
    const log = this.#logs.get(runId) ?? new EventLog(runId, join(this.#runsDir, runId));
    this.#logs.delete(runId);
    try {
      log.refresh();
    } catch (error) {
      throw withoutLog(this.#runsDir, runId, known, error);
    }
    this.#logs.set(runId, log);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size > maxLogs) this.#logs.delete(oldest!);
    return log;
  }
}

/** Why there is no log: never a run, pruned, or taken away. */
export function withoutLog(
  runsDir: string,
  runId: string,
  known: HeadRecord | null,
  error: unknown,
): unknown {
  if (codeOf(error) !== 'run_not_found') return error;
  const problem = missingLogProblem(runsDir, runId, known);
  if (problem !== null) return problem;
  const tombstone = readTombstone(join(runsDir, runId));
  return tombstone === null ? error : wasPruned(tombstone);
}

/** Events were acknowledged, and nothing of Core removed them: only a pruning does. */
export function missingLogProblem(runsDir: string, runId: string, known: HeadRecord | null): Error | null {
  if (known === null || known.acknowledged.seq === 0) return null;
  const { seq, hash } = known.acknowledged;
  if (!known.pruned) return recordCut(runId, `${logName} is gone, with ${seq} acknowledged events`);
  const tombstone = readTombstone(join(runsDir, runId));
  if (tombstone === null || tombstone.head === hash) return null;
  return recordCut(
    runId,
    `its tombstone says head ${tombstone.head.slice(0, 12)}, and ${hash.slice(0, 12)} was acknowledged`,
  );
}

/** What is left of a pruned run: enough to compare the chain's head with the one in the pull request. */
export const Tombstone = t.strict({
  run_id: NonEmptyString,
  head: Sha256,
  events: t.number,
  status: t.string,
  pruned_at: Timestamp,
  forge: t.string,
  owner: t.string,
  repo: t.string,
  number: nullable(t.number),
});
export type Tombstone = t.TypeOf<typeof Tombstone>;

/** null where no run was pruned. A run is pruned once its event log is gone and the tombstone stands. */
export function readTombstone(runFolder: string): Tombstone | null {
  const path = join(runFolder, tombstoneName);
  if (!existsSync(path)) return null;
  return decodeJson(Tombstone, readSmallFile(path), path);
}

export function wasPruned(tombstone: Tombstone): NotFound {
  const { run_id, pruned_at, events, head, status } = tombstone;
  return new NotFound(
    'run_pruned',
    `run ${run_id} was pruned at ${pruned_at}; it was ${status}, with ${events} events up to ${head.slice(0, 12)}`,
    { facts: tombstone },
  );
}

export function newRunId(): string {
  return `run_${uuidv7()}`;
}

/**
 * Makes the folder of a new run with its first event. It gets its name only when it is complete, so that no crash
 * leaves a run without events.
 */
export function createRunFolder(
  runsDir: string,
  heads: Heads,
  {
    runId,
    request,
    task,
    at,
  }: {
    readonly runId: string;
    readonly request: RunRequest;
    readonly task: string | undefined;
    readonly at: string;
  },
): { run: Run; size: number } {
  const folder = join(runsDir, `.${runId}.new`);
  const { lines, text } = writeLines(beforeFirst, at, [
    { type: 'run_created', data: { request, head_kept: true } },
  ]);
  heads.create(runId);
  try {
    mkdirSync(folder, { mode: 0o700 });
    makePrivateFolder(join(folder, artifactsName));
    if (task !== undefined) putArtifact(folder, task);
    writeNewFile(join(folder, logName), text);
    syncFolder(folder);
    renameSync(folder, join(runsDir, runId));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  syncFolder(runsDir);
  crashPoint('run_named');
  const run = fold(runId, lines);
  heads.acknowledge(runId, lines[0]!);
  return { run, size: Buffer.byteLength(text) };
}

function writeNewFile(path: string, text: string): void {
  const fd = openSync(path, 'wx', 0o600);
  try {
    writeAll(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** @throws Conflict (`record_cut`) where the log does not hold what was acknowledged */
export function requireWhole(runId: string, known: HeadRecord | null, log: EventLog): void {
  const { head, head_kept } = log.run;
  const problem = cutProblem(runId, known, { head, headKept: head_kept, hashOf: (seq) => log.hashOf(seq) });
  if (problem !== null) throw recordCut(runId, problem);
}
