import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { guarded } from '#kit/callbacks.ts';
import type { RecordState } from '#kit/contracts/run.ts';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { Conflict } from '#kit/errors.ts';
import { once } from '#kit/once.ts';
import { createLeases, type Leases } from '#kit/storage/lease.ts';
import type { PruneRequest, PruneResult, RecoveryRequest, Verification } from '../agent.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import { BegunLeases } from './begun-leases.ts';
import type { NewEvent, RunEvent, RunRequest } from './event.ts';
import { RunIndex } from './index/run-index.ts';
import { type Listing, listRuns, refreshFolder } from './index/run-list.ts';
import { checkRunId, isRunId, logName, logSize, runIdPrefix, runsWithHead } from './log/run-folder.ts';
import type { OpenMask, RunRecords } from './records.ts';
import type { Run } from './run.ts';
import { onlyRun, runByWord } from './run-name.ts';
import {
  executorLease,
  type Lease,
  type RunChanges,
  type RunChoice,
  type RunPage,
  type RunQuery,
  type RunStore,
} from './run-store.ts';
import { storageError } from './storage-error.ts';

export interface RunStoreOptions {
  readonly stateDir: string;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  readonly secrets?: OpenMask;
}

/** Milliseconds between two looks of a watcher: other processes write runs too, without a signal to this one. */
const lookMs = 400;

/**
 * Runs as folders below `<state>/runs`. Nothing is opened or made before the first call, and listing, which people wait for,
 * loads nothing that decodes or writes events.
 */
export class FileRunStore implements RunStore {
  readonly stateDir: string;
  readonly #runsDir: string;
  readonly #options: RunStoreOptions;
  readonly #leases: Leases;
  readonly #begun = new BegunLeases();
  #index: RunIndex | null = null;
  readonly #load = once(() => this.#loadRecords());
  /** null until they are needed first. */
  #open: RunRecords | null = null;

  constructor(options: RunStoreOptions) {
    this.#options = options;
    this.stateDir = options.stateDir;
    this.#runsDir = join(options.stateDir, 'runs');
    this.#leases = createLeases(() => this.#opened().db);
  }

  create(request: RunRequest, task?: string): Promise<Run> {
    return this.#with((records) => records.create(request, task));
  }

  begin(request: RunRequest, task?: string): Promise<Run> {
    return this.#with((records) => {
      const { run, lease } = records.begin(request, task);
      this.#begun.put(lease);
      return run;
    });
  }

  abandon(runId: string): Promise<void> {
    return this.#begun.abandon(runId);
  }

  async resolve(name: string, choice?: RunChoice): Promise<string> {
    const named = await runByWord(this, name, choice);
    if (named !== null) return named;
    const prefix = runIdPrefix(name);
    return this.#guarded(async () => {
      const runId = isRunId(prefix) ? prefix : onlyRun(prefix, await this.#withPrefix(prefix));
      if (logSize(this.#runsDir, runId) < 0) (await this.#loaded()).requireKnown(runId);
      return runId;
    });
  }

  read(runId: string): Promise<Run> {
    return this.#of(runId, (records) => records.read(runId));
  }

  events(runId: string, afterSeq = 0): Promise<RunEvent[]> {
    return this.#of(runId, (records) => records.events(runId, afterSeq));
  }

  list(query: RunQuery): Promise<RunPage> {
    return this.#guarded(async () => {
      // Looking makes no folders.
      if (!existsSync(this.#runsDir)) return { runs: [], next_cursor: null, problems: [] };
      return listRuns(this.#listing(), query);
    });
  }

  count(): Promise<number> {
    return this.#guarded(async () => {
      if (!existsSync(this.#runsDir)) return 0;
      await refreshFolder(this.#listing());
      const index = this.#opened();
      return index.reading(() => index.count());
    });
  }

  append(runId: string, decide: (run: Run) => readonly NewEvent[]): Promise<Run> {
    return this.#of(runId, (records) => records.append(runId, decide));
  }

  putArtifact(runId: string, content: string | Uint8Array): Promise<string> {
    return this.#of(runId, (records) => records.putArtifact(runId, content));
  }

  artifact(runId: string, digest: string): Promise<Uint8Array> {
    return this.#of(runId, (records) => records.artifact(runId, digest));
  }

  requireArtifacts(runId: string): Promise<void> {
    return this.#of(runId, (records) => records.requireArtifacts(runId));
  }

  requireUnaltered(runId: string): Promise<void> {
    return this.#of(runId, (records) => records.requireUnaltered(runId));
  }

  lease(name: string): Promise<Lease> {
    return this.#guarded(() => this.#begun.take(name) ?? this.#leases.acquire(name));
  }

  writeViews(runId: string): Promise<void> {
    return this.#of(runId, (records) => records.writeViews(runId));
  }

  async mirror(runId: string): Promise<string> {
    await this.writeViews(runId);
    return join(this.#runsDir, runId);
  }

  verify(runId: string, signatures?: ApprovalSignatures): Promise<Verification> {
    return this.#of(runId, (records) => records.verify(runId, signatures));
  }

  record(runId: string): Promise<RecordState> {
    return this.#of(runId, (records) => records.record(runId));
  }

  async recover(request: RecoveryRequest): Promise<Run> {
    const lease = await this.lease(executorLease(checkRunId(request.run_id)));
    try {
      return await this.#with((records) => records.recover(request));
    } finally {
      await lease.release();
    }
  }

  async restore(runId: string): Promise<Run> {
    throw new Conflict(
      'record_whole',
      `run ${runId} is kept in this folder: there is no mirror to put back`,
      {
        hint: `./core recover ${runId} shows what its record lost. Put its folder and head back from a backup.`,
      },
    );
  }

  prune(request: PruneRequest): Promise<PruneResult> {
    return this.#with(async (records) => {
      await refreshFolder(this.#listing());
      return records.prune(request);
    });
  }

  /** All of them each time: asking the folders is fast enough for the runs of one machine. */
  async changes(): Promise<RunChanges> {
    const runs = existsSync(this.#runsDir) ? readdirSync(this.#runsDir).filter(isRunId) : [];
    const sizes = new Map(runs.map((runId) => [runId, logSize(this.#runsDir, runId)]));
    return { sizes, all: true, position: null };
  }

  watch(_runId: string | null, look: () => void): () => void {
    const timer = setInterval(guarded('the run store', look), lookMs).unref();
    return () => clearInterval(timer);
  }

  async logSize(runId: string): Promise<number> {
    return logSize(this.#runsDir, runId);
  }

  async changedAt(runId: string): Promise<number> {
    const stats = statSync(join(this.#runsDir, runId, logName), { throwIfNoEntry: false });
    return stats?.mtimeMs ?? Date.now();
  }

  async close(): Promise<void> {
    this.#open?.close();
    this.#leases.close();
    this.#index?.close();
    this.#index = null;
  }

  #opened(): RunIndex {
    if (this.#index === null) {
      makePrivateFolder(this.stateDir);
      makePrivateFolder(this.#runsDir);
      this.#index = new RunIndex(this.stateDir);
    }
    return this.#index;
  }

  async #loaded(): Promise<RunRecords> {
    this.#open ??= await this.#load();
    return this.#open;
  }

  async #loadRecords(): Promise<RunRecords> {
    const { clock = Date.now, secrets } = this.#options;
    const [records, finder] = await Promise.all([import('./records.ts'), secrets?.()]);
    return new records.RunRecords({
      stateDir: this.stateDir,
      runsDir: this.#runsDir,
      index: () => this.#opened(),
      leases: this.#leases,
      now: () => new Date(clock()).toISOString(),
      secrets: finder,
    });
  }

  #listing(): Listing {
    return {
      index: this.#opened(),
      stateDir: this.stateDir,
      runsDir: this.#runsDir,
      reader: async () => (await this.#loaded()).readRow,
      executorLives: (runId) => this.#leases.holder(executorLease(runId)) !== null,
    };
  }

  async #withPrefix(prefix: string): Promise<string[]> {
    if (!existsSync(this.#runsDir)) return [];
    const index = this.#opened();
    await refreshFolder(this.#listing());
    const found = index.reading(() => index.withPrefix(prefix, 6));
    // Runs that cannot be read are not in the index, and can be named all the same.
    return found.length > 0 ? found : runsWithHead(this.stateDir).filter((runId) => runId.startsWith(prefix));
  }

  /** Refuses what is no run id. */
  #of<T>(runId: string, work: (records: RunRecords) => T): Promise<T> {
    return this.#guarded(async () => {
      checkRunId(runId);
      return work(await this.#loaded());
    });
  }

  #with<T>(work: (records: RunRecords) => T | Promise<T>): Promise<T> {
    return this.#guarded(async () => work(await this.#loaded()));
  }

  async #guarded<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error, this.stateDir);
    }
  }
}
