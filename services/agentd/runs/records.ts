import { join } from 'node:path';
import { inBackground } from '#kit/callbacks.ts';
import type { RecordState } from '#kit/contracts/run.ts';
import { codeOf } from '#kit/errors.ts';
import { mapTexts } from '#kit/map-texts.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { HeldLease, Leases } from '#kit/storage/lease.ts';
import type { PruneRequest, PruneResult, RecoveryRequest, Verification } from '../agent.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import type { NewEvent, RunEvent, RunRequest } from './event.ts';
import { indexRow, rowReader } from './index/row-reader.ts';
import type { RunIndex } from './index/run-index.ts';
import type { ReadRow } from './index/run-list.ts';
import { digestOfArtifact, putArtifact, readArtifact } from './log/artifacts.ts';
import type { EventLog } from './log/event-log.ts';
import { Heads } from './log/heads.ts';
import { createRunFolder, newRunId, OpenRuns } from './log/open-runs.ts';
import { logSize } from './log/run-folder.ts';
import { prune } from './prune.ts';
import { asSeen, isActive, type Run } from './run.ts';
import { executorLease } from './run-store.ts';
import { storageError } from './storage-error.ts';
import { requireArtifacts, requireViews } from './verify/files.ts';
import { readRecord, recovery } from './verify/recover.ts';
import { verifyRun } from './verify/verify.ts';
import { writeViews } from './views/views.ts';

/** What masks every text of every event before it is written. Opened at the first writing; `current` is read for each append. */
export type OpenMask = () => Promise<{ readonly current: Pick<SecretFinder, 'mask'> }>;

export interface RecordsOptions {
  readonly stateDir: string;
  readonly runsDir: string;
  /** Opened when it is asked for first. */
  readonly index: () => RunIndex;
  readonly leases: Leases;
  readonly now: () => string;
  readonly secrets: Awaited<ReturnType<OpenMask>> | undefined;
}

/** What is done with the event logs of runs and the files beside them. Run ids are checked by the caller. */
export class RunRecords {
  readonly readRow: ReadRow;
  readonly #options: RecordsOptions;
  readonly #heads: Heads;
  readonly #runs: OpenRuns;

  constructor(options: RecordsOptions) {
    const { stateDir, runsDir } = options;
    this.#options = options;
    this.#heads = new Heads(stateDir);
    this.#runs = new OpenRuns(runsDir, this.#heads);
    this.readRow = rowReader(runsDir, this.#heads);
  }

  create(request: RunRequest, task?: string, runId = newRunId()): Run {
    const { runsDir, index, now } = this.#options;
    const opened = index();
    const { run, size } = createRunFolder(runsDir, this.#heads, {
      runId,
      request: this.#masked(request),
      task,
      at: now(),
    });
    opened.locked(() => opened.tryPut(indexRow(run, size)));
    return run;
  }

  read(runId: string): Run {
    return this.#seen(this.#acknowledged(runId).run);
  }

  events(runId: string, afterSeq = 0): RunEvent[] {
    return this.#acknowledged(runId).eventsAfter(afterSeq);
  }

  append(runId: string, decide: (run: Run) => readonly NewEvent[]): Run {
    return this.#locked(runId, (write) => {
      const log = this.#runs.fresh(runId);
      const { torn } = log;
      if (torn.length > 0) {
        const artifact = putArtifact(this.#folder(runId), torn);
        write(log, [{ type: 'torn_line_set_aside', data: { bytes: torn.length, artifact } }]);
      }
      const events = decide(this.#seen(log.run));
      if (events.length > 0) write(log, events);
      return log;
    });
  }

  putArtifact(runId: string, content: string | Uint8Array): string {
    return putArtifact(this.#knownFolder(runId), content);
  }

  artifact(runId: string, digest: string): Uint8Array {
    return readArtifact(this.#knownFolder(runId), digest);
  }

  requireArtifacts(runId: string): void {
    this.#requireArtifacts(runId, this.events(runId));
  }

  requireUnaltered(runId: string): void {
    const events = this.events(runId);
    this.#requireArtifacts(runId, events);
    requireViews(runId, this.#folder(runId), events);
  }

  /** A full or read-only disk is no failure here: what was to be done is in the log, and the next writing brings the views up to it. */
  writeViews(runId: string): void {
    const events = this.events(runId);
    try {
      this.#heads.sync(runId);
      writeViews(runId, this.#folder(runId), events);
    } catch (error) {
      if (!this.#isStorageError(error, ['disk_full', 'state_not_writable'])) throw error;
    }
  }

  verify(runId: string, signatures?: ApprovalSignatures): Verification {
    this.#acknowledgeReadable(runId);
    return verifyRun(runId, this.#options.runsDir, this.#heads, signatures);
  }

  record(runId: string): RecordState {
    this.#acknowledgeReadable(runId);
    return readRecord(runId, this.#options.runsDir, this.#heads);
  }

  /**
   * As `create`, of a run that this process plans next: its executor's lease is taken before anybody can see it.
   */
  begin(request: RunRequest, task?: string): { readonly run: Run; readonly lease: HeldLease } {
    const runId = newRunId();
    const lease = this.#options.leases.acquire(executorLease(runId));
    try {
      return { run: this.create(request, task, runId), lease };
    } catch (error) {
      inBackground('a lease', () => lease.release());
      throw error;
    }
  }

  recover(request: RecoveryRequest): Run {
    const runId = request.run_id;
    return this.#locked(runId, (write) => {
      const event = recovery(request, this.#options.runsDir, this.#heads);
      const log = this.#runs.asFound(runId, null);
      write(log, [event]);
      return log;
    });
  }

  prune(request: PruneRequest): Promise<PruneResult> {
    const { stateDir, runsDir, index, leases, now } = this.#options;
    const access = {
      stateDir,
      runsDir,
      index: index(),
      heads: this.#heads,
      now,
      read: (runId: string) => this.#seen(this.#runs.fresh(runId).run),
      row: this.readRow,
      leaseHolder: (name: string) => leases.holder(name),
    };
    return prune(access, request);
  }

  /** A run whose log was taken away is one, to be verified and recovered. @throws NotFound (`run_not_found`, `run_pruned`) */
  requireKnown(runId: string): void {
    try {
      this.#runs.fresh(runId);
    } catch (error) {
      if (codeOf(error) !== 'record_cut') throw error;
    }
  }

  close(): void {
    this.#heads.syncAll();
  }

  /** Writes events under the append lock. They are durable, and acknowledged by the head, when it returns. */
  #locked(
    runId: string,
    work: (write: (log: EventLog, events: readonly NewEvent[]) => void) => EventLog,
  ): Run {
    const write = (log: EventLog, events: readonly NewEvent[]): void => {
      const adopted: NewEvent[] = log.run.head_kept
        ? []
        : [{ type: 'head_adopted', data: { head: log.run.head } }];
      if (adopted.length > 0) this.#heads.create(runId);
      log.append([...adopted, ...this.#masked(events)], this.#options.now(), (head) =>
        this.#heads.acknowledge(runId, head),
      );
    };
    const index = this.#options.index();
    return index.locked(() => {
      const log = work(write);
      index.tryPut(indexRow(log.run, log.size));
      return this.#seen(log.run);
    });
  }

  /**
   * The log of a run for a reader. What a process wrote and was killed before it acknowledged, is acknowledged first: what was
   * seen once is missed when it is gone.
   */
  #acknowledged(runId: string): EventLog {
    const log = this.#runs.fresh(runId);
    if (!this.#heads.isBehind(log.run)) return log;
    try {
      this.#options.index().locked(() => {
        const { run } = this.#runs.fresh(runId);
        const [last] = log.eventsAfter(run.head.seq - 1);
        if (last !== undefined && this.#heads.isBehind(run)) this.#heads.acknowledge(runId, last);
      });
    } catch (error) {
      // A state folder that cannot be written can still be read.
      if (!this.#isStorageError(error, ['disk_full', 'state_not_writable', 'run_store_busy'])) throw error;
    }
    return log;
  }

  /** As `read`, for those who report themselves what is wrong with a record. */
  #acknowledgeReadable(runId: string): void {
    try {
      this.#acknowledged(runId);
    } catch {}
  }

  #isStorageError(error: unknown, codes: readonly string[]): boolean {
    return codes.includes(codeOf(storageError(error, this.#options.stateDir)));
  }

  #masked<T>(value: T): T {
    const { secrets } = this.#options;
    return secrets === undefined ? value : mapTexts(value, secrets.current.mask);
  }

  #seen(run: Run): Run {
    return isActive(run.status)
      ? asSeen(run, this.#options.leases.holder(executorLease(run.run_id)) !== null)
      : run;
  }

  #requireArtifacts(runId: string, events: readonly RunEvent[]): void {
    const folder = this.#folder(runId);
    requireArtifacts(runId, (digest) => digestOfArtifact(folder, digest), events);
  }

  #folder(runId: string): string {
    return join(this.#options.runsDir, runId);
  }

  /** The folder of a run that has events. */
  #knownFolder(runId: string): string {
    if (logSize(this.#options.runsDir, runId) < 0) this.#runs.fresh(runId);
    return this.#folder(runId);
  }
}
