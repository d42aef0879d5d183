import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordState } from '#kit/contracts/run.ts';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { codeOf, InvalidInput, NotFound } from '#kit/errors.ts';
import { mapTexts } from '#kit/map-texts.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import { createLeases, type Leases } from '#kit/storage/lease.ts';
import type { PruneRequest, PruneResult, RecoveryRequest, Verification } from '../agent.ts';
import type { NewEvent, RunEvent, RunRequest } from './event.ts';
import type { EventLog } from './event-log.ts';
import type { Heads } from './heads.ts';
import { type ReadRow, refreshFolder } from './index-refresh.ts';
import { executorLease } from './leases.ts';
import type { Run } from './run.ts';
import { checkRunId, isRunId, logName, runIdPrefix, runsWithHead } from './run-folder.ts';
import { RunIndex } from './run-index.ts';
import { listRuns, logSize } from './run-list.ts';
import { asSeen, isActive } from './run-status.ts';
import type { Lease, RunPage, RunQuery, RunStore } from './run-store.ts';
import { storageError } from './storage-error.ts';

export interface FileRunStore extends RunStore {
  /** How many runs there are. */
  count(): Promise<number>;
  readonly stateDir: string;
  /** What the run's folder holds, and what was acknowledged. */
  record(runId: string): Promise<RecordState>;
  /** Lets a run whose record was cut go on from its last sound event. @throws Conflict (`record_whole`, `record_lost`, `lease_held`) */
  recover(request: RecoveryRequest): Promise<Run>;
  /** Checks a run offline, from its folder and its head. */
  verify(runId: string): Promise<Verification>;
  prune(request: PruneRequest): Promise<PruneResult>;
  /** Bytes of the event log of each run, without reading any. */
  logSizes(): ReadonlyMap<string, number>;
  /** Bytes of one event log; -1 without one. */
  logSize(runId: string): number;
  /** When the event log of a run was written last, in milliseconds since 1970; now without one. */
  changedAt(runId: string): number;
  /** Releases leases and closes files. */
  close(): void;
}

export interface RunStoreOptions {
  readonly stateDir: string;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** Masks every text of every event before it is written; asked for once, at the first writing. */
  readonly secrets?: () => Promise<Pick<SecretFinder, 'mask'>>;
}

/** Runs as folders below `<state>/runs`. Nothing is opened or made before the first call. */
export function createRunStore(options: RunStoreOptions): FileRunStore {
  return new FolderRunStore(options);
}

/** How long a page of the list is shown again while the index has not changed: a process can die unseen. */
const pageLifeMs = 1000;
const maxPages = 100;

/**
 * Listing is what people wait for, so the modules that decode and write events are loaded when they are needed first.
 */
class FolderRunStore implements FileRunStore {
  readonly stateDir: string;
  readonly #runsDir: string;
  readonly #clock: () => number;
  readonly #secrets: RunStoreOptions['secrets'];
  readonly #leases: Leases;
  /** null until they are needed first. */
  #heads: Heads | null = null;
  #index: RunIndex | null = null;
  #loaded: Promise<Writing> | null = null;
  readonly #pages = new Map<string, { version: string; at: number; page: RunPage }>();

  constructor({ stateDir, clock = Date.now, secrets }: RunStoreOptions) {
    this.#secrets = secrets;
    this.stateDir = stateDir;
    this.#runsDir = join(stateDir, 'runs');
    this.#clock = clock;
    this.#leases = createLeases(() => this.#opened().db);
  }

  async create(request: RunRequest): Promise<Run> {
    const [{ indexRow, masked, heads }, { createRunFolder }] = await Promise.all([
      this.#writing(),
      import('./create-run.ts'),
    ]);
    return this.#guarded(() => {
      const index = this.#opened();
      const { run, size } = createRunFolder(this.#runsDir, heads, masked(request), this.#now());
      index.locked(() => index.tryPut(indexRow(run, size)));
      return run;
    });
  }

  async resolve(idOrPrefix: string): Promise<string> {
    const prefix = runIdPrefix(idOrPrefix);
    return this.#guardedAsync(async () => {
      const found = isRunId(prefix)
        ? [prefix]
        : existsSync(this.#runsDir)
          ? await this.#withPrefix(prefix)
          : [];
      if (found.length === 0)
        throw new NotFound('run_not_found', `no run starts with ${prefix}; ./core runs lists them`);
      if (found.length > 1) throw ambiguous(prefix, found);
      const [runId] = found as [string];
      if (!existsSync(join(this.#runsDir, runId, logName))) await this.#requireKnown(runId);
      return runId;
    });
  }

  async read(runId: string): Promise<Run> {
    checkRunId(runId);
    const loaded = await this.#writing();
    return this.#guarded(() => this.#seen(this.#acknowledged(loaded, runId).run));
  }

  async events(runId: string, afterSeq = 0): Promise<RunEvent[]> {
    checkRunId(runId);
    const loaded = await this.#writing();
    return this.#guarded(() => this.#acknowledged(loaded, runId).eventsAfter(afterSeq));
  }

  /**
   * The log of a run for somebody to look at. What a process wrote and was killed before it acknowledged, is acknowledged first: what was
   * seen once is missed when it is gone.
   */
  #acknowledged({ runs, heads }: Writing, runId: string): EventLog {
    const log = runs.fresh(runId);
    if (!heads.isBehind(log.run)) return log;
    try {
      this.#opened().locked(() => {
        const { run } = runs.fresh(runId);
        const [last] = log.eventsAfter(run.head.seq - 1);
        if (last !== undefined && heads.isBehind(run)) heads.acknowledge(runId, last);
      });
    } catch (error) {
      // Somebody may look at a state folder that cannot be written.
      const code = codeOf(storageError(error, this.stateDir));
      if (!['disk_full', 'state_not_writable', 'run_store_busy'].includes(code)) throw error;
    }
    return log;
  }

  async list(query: RunQuery): Promise<RunPage> {
    return this.#guardedAsync(async () => {
      // Looking makes no folders.
      if (!existsSync(this.#runsDir)) return { runs: [], next_cursor: null, problems: [] };
      const index = this.#opened();
      const key = JSON.stringify(query);
      const cached = this.#pages.get(key);
      const version = index.reading(() => index.version());
      if (cached?.version === version && Date.now() - cached.at < pageLifeMs) return cached.page;
      const page = await listRuns(
        {
          index,
          runsDir: this.#runsDir,
          withHead: () => runsWithHead(this.stateDir),
          reader: () => this.#reader(),
          executorLives: (runId) => this.#executorLives(runId),
        },
        query,
      );
      if (this.#pages.size >= maxPages) this.#pages.clear();
      this.#pages.set(key, { version: index.version(), at: Date.now(), page });
      return page;
    });
  }

  async count(): Promise<number> {
    await this.list({ limit: 1 });
    if (!existsSync(this.#runsDir)) return 0;
    return this.#guarded(() => {
      const index = this.#opened();
      return index.reading(() => index.count());
    });
  }

  async append(runId: string, decide: (run: Run) => readonly NewEvent[]): Promise<Run> {
    checkRunId(runId);
    const { runs, putArtifact } = await this.#writing();
    return this.#locked(runId, (write) => {
      const log = runs.fresh(runId);
      const torn = log.torn();
      if (torn !== null) {
        const artifact = putArtifact(join(this.#runsDir, runId), torn);
        write(log, [{ type: 'torn_line_set_aside', data: { bytes: torn.length, artifact } }]);
      }
      const events = decide(this.#seen(log.run));
      if (events.length > 0) write(log, events);
      return log;
    });
  }

  /** Writes events under the append lock. They are durable, and acknowledged by the head, when it returns. */
  async #locked(
    runId: string,
    work: (write: (log: EventLog, events: readonly NewEvent[]) => void) => EventLog,
  ): Promise<Run> {
    const { indexRow, masked, heads } = await this.#writing();
    const write = (log: EventLog, events: readonly NewEvent[]): void => {
      const adopted: NewEvent[] = log.run.head_kept
        ? []
        : [{ type: 'head_adopted', data: { head: log.run.head } }];
      if (adopted.length > 0) heads.create(runId);
      log.append([...adopted, ...masked(events)], this.#now(), (head) => heads.acknowledge(runId, head));
    };
    return this.#guarded(() => {
      const index = this.#opened();
      return index.locked(() => {
        const log = work(write);
        index.tryPut(indexRow(log.run, log.size));
        return this.#seen(log.run);
      });
    });
  }

  async putArtifact(runId: string, content: string | Uint8Array): Promise<string> {
    const { putArtifact } = await this.#writing();
    const folder = await this.#folder(runId);
    return this.#guarded(() => putArtifact(folder, content));
  }

  async artifact(runId: string, digest: string): Promise<Uint8Array> {
    const { readArtifact } = await this.#writing();
    const folder = await this.#folder(runId);
    return this.#guarded(() => readArtifact(folder, digest));
  }

  async requireArtifacts(runId: string): Promise<void> {
    const [{ requireArtifacts }, events] = await Promise.all([import('./unaltered.ts'), this.events(runId)]);
    this.#guarded(() => requireArtifacts(runId, join(this.#runsDir, runId), events));
  }

  async requireUnaltered(runId: string): Promise<void> {
    await this.requireArtifacts(runId);
    const [{ requireViews }, events] = await Promise.all([import('./unaltered.ts'), this.events(runId)]);
    this.#guarded(() => requireViews(runId, join(this.#runsDir, runId), events));
  }

  async lease(name: string): Promise<Lease> {
    return this.#guarded(() => this.#leases.acquire(name));
  }

  async writeViews(runId: string): Promise<void> {
    const [{ writeViews }, { heads }] = await Promise.all([import('./views.ts'), this.#writing()]);
    const events = await this.events(runId);
    try {
      this.#guarded(() => {
        heads.sync(runId);
        writeViews(runId, join(this.#runsDir, runId), events);
      });
    } catch (error) {
      // What was to be done is done and in the log. The next writing brings the views up to it.
      if (!['disk_full', 'state_not_writable'].includes(codeOf(error))) throw error;
    }
  }

  async verify(runId: string): Promise<Verification> {
    const [{ verifyRun }, { heads }] = await Promise.all([import('./verify.ts'), this.#look(runId)]);
    return this.#guarded(() => verifyRun(runId, this.#runsDir, heads));
  }

  /** As `read`, for those who say themselves what is wrong with a record. */
  async #look(runId: string): Promise<Writing> {
    checkRunId(runId);
    await this.read(runId).catch(() => undefined);
    return this.#writing();
  }

  async record(runId: string): Promise<RecordState> {
    const [{ readRecord }, { heads }] = await Promise.all([import('./recover.ts'), this.#look(runId)]);
    return this.#guarded(() => readRecord(runId, this.#runsDir, heads));
  }

  async recover(request: RecoveryRequest): Promise<Run> {
    const { recovery } = await import('./recover.ts');
    const { runs, heads } = await this.#writing();
    const runId = checkRunId(request.run_id);
    const lease = await this.lease(executorLease(runId));
    try {
      return await this.#locked(runId, (write) => {
        const event = recovery(request, this.#runsDir, heads);
        runs.forget(runId);
        const log = runs.asFound(runId, null);
        write(log, [event]);
        return log;
      });
    } finally {
      lease.release();
    }
  }

  async prune(request: PruneRequest): Promise<PruneResult> {
    const { prune } = await import('./prune.ts');
    const { runs, rowReader, heads } = await this.#writing();
    return this.#guardedAsync(async () => {
      const index = this.#opened();
      await refreshFolder(
        index,
        this.#runsDir,
        () => runsWithHead(this.stateDir),
        () => this.#reader(),
      );
      return prune(
        {
          stateDir: this.stateDir,
          runsDir: this.#runsDir,
          index,
          heads,
          now: () => this.#now(),
          read: (runId) => this.#seen(runs.fresh(runId).run),
          forget: (runId) => runs.forget(runId),
          row: rowReader(this.#runsDir, heads),
          leaseHolder: (name) => this.#leases.holder(name),
        },
        request,
      );
    });
  }

  logSizes(): ReadonlyMap<string, number> {
    if (!existsSync(this.#runsDir)) return new Map();
    const runs = readdirSync(this.#runsDir).filter(isRunId);
    return new Map(runs.map((runId) => [runId, this.logSize(runId)]));
  }

  logSize(runId: string): number {
    return logSize(this.#runsDir, runId);
  }

  changedAt(runId: string): number {
    const stats = statSync(join(this.#runsDir, runId, logName), { throwIfNoEntry: false });
    return stats?.mtimeMs ?? Date.now();
  }

  close(): void {
    this.#heads?.syncAll();
    this.#leases.close();
    this.#loaded?.then(
      ({ runs }) => runs.close(),
      () => undefined,
    );
    this.#index?.close();
    this.#index = null;
  }

  #now(): string {
    return new Date(this.#clock()).toISOString();
  }

  #seen(run: Run): Run {
    return isActive(run.status) ? asSeen(run, this.#executorLives(run.run_id)) : run;
  }

  #executorLives(runId: string): boolean {
    return this.#leases.holder(executorLease(runId)) !== null;
  }

  #opened(): RunIndex {
    if (this.#index === null) {
      makePrivateFolder(this.stateDir);
      makePrivateFolder(this.#runsDir);
      this.#index = new RunIndex(this.stateDir);
    }
    return this.#index;
  }

  #writing(): Promise<Writing> {
    this.#loaded ??= loadWriting(this.stateDir, this.#runsDir, this.#secrets).then(
      (writing) => {
        this.#heads = writing.heads;
        return writing;
      },
      (error) => {
        this.#loaded = null;
        throw error;
      },
    );
    return this.#loaded;
  }

  async #reader(): Promise<ReadRow> {
    const { rowReader, heads } = await this.#writing();
    return rowReader(this.#runsDir, heads);
  }

  /** The folder of a run that has events. */
  async #folder(runId: string): Promise<string> {
    const folder = join(this.#runsDir, checkRunId(runId));
    if (!existsSync(join(folder, logName))) (await this.#writing()).runs.fresh(runId);
    return folder;
  }

  async #withPrefix(prefix: string): Promise<string[]> {
    const index = this.#opened();
    await refreshFolder(
      index,
      this.#runsDir,
      () => runsWithHead(this.stateDir),
      () => this.#reader(),
    );
    const found = index.reading(() => index.withPrefix(prefix, 6));
    // What cannot be read is none of the index, and can be named all the same.
    return found.length > 0 ? found : runsWithHead(this.stateDir).filter((runId) => runId.startsWith(prefix));
  }

  /** A run whose log was taken away is one, to be verified and recovered. @throws NotFound (`run_not_found`, `run_pruned`) */
  async #requireKnown(runId: string): Promise<void> {
    const { runs } = await this.#writing();
    try {
      runs.fresh(runId);
    } catch (error) {
      if (codeOf(error) !== 'record_cut') throw error;
    }
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw storageError(error, this.stateDir);
    }
  }

  async #guardedAsync<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error, this.stateDir);
    }
  }
}

async function loadWriting(stateDir: string, runsDir: string, secrets: RunStoreOptions['secrets']) {
  const [{ Heads }, openRuns, artifacts, finder] = await Promise.all([
    import('./heads.ts'),
    import('./open-runs.ts'),
    import('./artifacts.ts'),
    secrets?.(),
  ]);
  const masked = <T>(value: T): T =>
    finder === undefined ? value : mapTexts(value, (text) => finder.mask(text));
  const heads = new Heads(stateDir);
  return { ...openRuns, ...artifacts, masked, heads, runs: new openRuns.OpenRuns(runsDir, heads) };
}

type Writing = Awaited<ReturnType<typeof loadWriting>>;

function ambiguous(prefix: string, found: readonly string[]): InvalidInput {
  const shown = found.slice(0, 5).join(', ');
  const more = found.length > 5 ? ', …' : '';
  return new InvalidInput(
    'run_ambiguous',
    `${prefix} is the beginning of several runs: ${shown}${more}; give more of it`,
  );
}
