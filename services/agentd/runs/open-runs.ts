import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import { EventLog } from './event-log.ts';
import type { ReadRow } from './index-refresh.ts';
import type { Run } from './run.ts';
import { logName } from './run-folder.ts';
import type { IndexRow } from './run-index.ts';
import { logStamp } from './run-list.ts';
import { summaryOf } from './run-summary.ts';
import { readTombstone, type Tombstone, wasPruned } from './tombstone.ts';

const mostOpen = 64;

/** The event logs that were used last, open and folded. */
export class OpenRuns {
  readonly #runsDir: string;
  readonly #logs = new Map<string, EventLog>();

  constructor(runsDir: string) {
    this.#runsDir = runsDir;
  }

  /** The log of a run, up to date. @throws NotFound (`run_not_found`, `run_pruned`), Failed (`run_damaged`) */
  fresh(runId: string): EventLog {
    const log = this.#logs.get(runId) ?? this.#open(runId);
    try {
      log.refresh();
    } catch (error) {
      this.forget(runId);
      throw this.#prunedOr(error, runId);
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

  #open(runId: string): EventLog {
    try {
      const log = new EventLog(runId, join(this.#runsDir, runId));
      this.#logs.set(runId, log);
      return log;
    } catch (error) {
      throw this.#prunedOr(error, runId);
    }
  }

  #closeOldest(): void {
    for (const runId of this.#logs.keys()) {
      if (this.#logs.size <= mostOpen) return;
      this.forget(runId);
    }
  }

  #prunedOr(error: unknown, runId: string): unknown {
    if (codeOf(error) !== 'run_not_found') return error;
    const tombstone = readTombstone(join(this.#runsDir, runId));
    return tombstone === null ? error : wasPruned(tombstone);
  }
}

/** Reads one run folder for the index. Never throws: what cannot be read is a problem to be told. */
export function rowReader(runsDir: string): ReadRow {
  return (runId) => {
    const stamp = logStamp(runsDir, runId);
    try {
      return stamp === 'missing' ? rowWithoutLog(runsDir, runId) : rowFromLog(runsDir, runId);
    } catch (error) {
      return { name: runId, stamp, what: messageOf(error) };
    }
  };
}

function rowFromLog(runsDir: string, runId: string): IndexRow {
  const log = new EventLog(runId, join(runsDir, runId));
  try {
    const torn = log.refresh();
    return indexRow(log.run, log.size + torn);
  } finally {
    log.close();
  }
}

function rowWithoutLog(runsDir: string, runId: string): ReturnType<ReadRow> {
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
