import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf, NotFound } from '#kit/errors.ts';
import { EventLog } from './event-log.ts';
import { type HeadRecord, type Heads, recordCut, requireWhole } from './heads.ts';
import type { ReadRow } from './index-refresh.ts';
import { type Run, summaryOf } from './run.ts';
import { logName } from './run-folder.ts';
import type { IndexRow } from './run-index.ts';
import { logStamp } from './run-list.ts';
import { readTombstone, type Tombstone, wasPruned } from './tombstone.ts';

const maxOpen = 64;

/** The event logs that were used last, open and folded. */
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
    const log = this.#logs.get(runId) ?? this.#open(runId, known);
    try {
      log.refresh();
    } catch (error) {
      this.forget(runId);
      throw withoutLog(this.#runsDir, runId, known, error);
    }
    this.#logs.delete(runId);
    this.#logs.set(runId, log);
    this.#closeOldest();
    return log;
  }

  forget(runId: string): void {
    this.#logs.get(runId)?.close();
    this.#logs.delete(runId);
  }

  close(): void {
    for (const runId of [...this.#logs.keys()]) this.forget(runId);
  }

  #open(runId: string, known: HeadRecord | null): EventLog {
    try {
      const log = new EventLog(runId, join(this.#runsDir, runId));
      this.#logs.set(runId, log);
      return log;
    } catch (error) {
      throw withoutLog(this.#runsDir, runId, known, error);
    }
  }

  #closeOldest(): void {
    for (const runId of this.#logs.keys()) {
      if (this.#logs.size <= maxOpen) return;
      this.forget(runId);
    }
  }
}

export function notFound(runId: string): NotFound {
  return new NotFound('run_not_found', `there is no run ${runId}; ./core runs lists them`);
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

/** Reads one run folder for the index. Never throws: what cannot be read is a problem to be told. */
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
  try {
    const torn = log.refresh();
    requireWhole(runId, known, log);
    return indexRow(log.run, log.size + torn);
  } finally {
    log.close();
  }
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
  return { ...summaryOf(run), status: run.status, size };
}

function prunedRow({ run_id, forge, owner, repo, number, pruned_at }: Tombstone): IndexRow {
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
    actions: 0,
  };
}
