import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordState } from '#kit/contracts/run.ts';
import type { Database } from '#kit/database/database.ts';
import { createFencedLeases, type FencedLeases } from '#kit/database/fenced-leases.ts';
import { once } from '#kit/once.ts';
import type { PruneRequest, PruneResult, RecoveryRequest, Verification } from '../agent.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import { BegunLeases } from './begun-leases.ts';
import type { NewEvent, RunEvent, RunRequest } from './event.ts';
import { runIdPrefix } from './log/run-folder.ts';
import type { RunObjects } from './rows/run-artifacts.ts';
import { changesSince } from './rows/run-changes.ts';
import { listRows } from './rows/run-rows.ts';
import type { Run } from './run.ts';
import { onlyRun, runByWord } from './run-name.ts';
import type { OpenMask, RunRecords, RunRecordsOptions } from './run-records.ts';
import type { Lease, RunChanges, RunChoice, RunPage, RunQuery, RunStore } from './run-store.ts';

export interface DatabaseRunStoreOptions
  extends Pick<RunRecordsOptions, 'stateDir' | 'database'>,
    Partial<Pick<RunRecordsOptions, 'objects' | 'clock' | 'secrets' | 'warn'>> {
  /** Time that a lease outlives its holder, in ms. */
  readonly leaseMs?: number;
}

const noSecrets: OpenMask = async () => ({ current: { mask: (text) => text } });

/**
 * Run store on a database that several hosts may share. Each host also keeps a folder of every run that it works on, as spec.md
 * describes. Core takes events from a folder only to recover a run. Listing runs loads no code that decodes events, to be fast.
 */
export class DatabaseRunStore implements RunStore {
  readonly stateDir: string;
  readonly #database: Database;
  readonly #objects: RunObjects | null;
  readonly #leases: FencedLeases;
  readonly #begun = new BegunLeases();
  readonly #records: () => Promise<RunRecords>;

  constructor(options: DatabaseRunStoreOptions) {
    const { stateDir, database, objects = null, leaseMs } = options;
    const { clock = Date.now, secrets = noSecrets, warn = () => {} } = options;
    this.stateDir = stateDir;
    this.#database = database;
    this.#objects = objects;
    this.#leases = createFencedLeases(database, leaseMs === undefined ? {} : { durationMs: leaseMs });
    const parts = { leases: this.#leases, begun: this.#begun };
    this.#records = once(async () => {
      const { RunRecords } = await import('./run-records.ts');
      return new RunRecords({ stateDir, database, objects, clock, secrets, warn, ...parts });
    });
  }

  async resolve(name: string, choice?: RunChoice): Promise<string> {
    const named = await runByWord(this, name, choice);
    if (named !== null) return named;
    const prefix = runIdPrefix(name);
    const found = await this.#database.query<{ run_id: string }>(
      'SELECT run_id FROM runs WHERE run_id >= $1 AND run_id < $2 ORDER BY run_id DESC LIMIT 6',
      [prefix, `${prefix}~`],
    );
    // The database may have lost a run that this host has. It can be recovered, so its name must resolve.
    const lost = found.length === 0 ? await (await this.#records()).lostRuns(prefix) : [];
    return onlyRun(prefix, [...found.map(({ run_id }) => run_id), ...lost]);
  }

  async list(query: RunQuery): Promise<RunPage> {
    const page = await listRows(this.#database, query);
    if (page.runs.length > 0 || !existsSync(join(this.stateDir, 'runs'))) return page;
    const some = await this.#database.query('SELECT 1 AS run FROM runs LIMIT 1');
    if (some.length > 0) return page;
    // The database has no run at all, for example because its file was deleted or moved.
    return { ...page, problems: lostTexts(await (await this.#records()).lostRuns()) };
  }

  async count(): Promise<number> {
    const [row] = await this.#database.query<{ count: number }>(
      "SELECT count(*) AS count FROM runs WHERE status <> 'pruned'",
    );
    return row!.count;
  }

  changes(position: string | null): Promise<RunChanges> {
    return changesSince(this.#database, position);
  }

  watch(runId: string | null, look: () => void): () => void {
    return this.#database.signals.watch(runId, look);
  }

  async logSize(runId: string): Promise<number> {
    const [row] = await this.#database.query<{ size: number }>('SELECT size FROM runs WHERE run_id = $1', [
      runId,
    ]);
    return row?.size ?? -1;
  }

  async changedAt(runId: string): Promise<number> {
    const [row] = await this.#database.query<{ changed_at: number }>(
      'SELECT changed_at FROM runs WHERE run_id = $1',
      [runId],
    );
    return row?.changed_at ?? Date.now();
  }

  async lease(name: string): Promise<Lease> {
    return this.#begun.take(name) ?? this.#leases.acquire(name);
  }

  abandon(runId: string): Promise<void> {
    return this.#begun.abandon(runId);
  }

  async close(): Promise<void> {
    await this.#leases.close();
    await this.#objects?.store.close();
    await this.#database.close();
  }

  async create(request: RunRequest, task?: string): Promise<Run> {
    return (await this.#records()).create(request, task);
  }

  async begin(request: RunRequest, task?: string): Promise<Run> {
    return (await this.#records()).begin(request, task);
  }

  async withKey(idempotencyKey: string): Promise<Run | null> {
    return (await this.#records()).withKey(idempotencyKey);
  }

  async read(runId: string): Promise<Run> {
    return (await this.#records()).read(runId);
  }

  async events(runId: string, afterSeq?: number): Promise<RunEvent[]> {
    return (await this.#records()).events(runId, afterSeq);
  }

  async append(runId: string, decide: (run: Run) => readonly NewEvent[]): Promise<Run> {
    return (await this.#records()).append(runId, decide);
  }

  async putArtifact(runId: string, content: string | Uint8Array): Promise<string> {
    return (await this.#records()).putArtifact(runId, content);
  }

  async artifact(runId: string, digest: string): Promise<Uint8Array> {
    return (await this.#records()).artifact(runId, digest);
  }

  async requireArtifacts(runId: string): Promise<void> {
    return (await this.#records()).requireArtifacts(runId);
  }

  async requireSound(runId: string): Promise<void> {
    return (await this.#records()).requireSound(runId);
  }

  async requireUnaltered(runId: string): Promise<void> {
    return (await this.#records()).requireUnaltered(runId);
  }

  async writeViews(runId: string): Promise<void> {
    return (await this.#records()).writeViews(runId);
  }

  async mirror(runId: string): Promise<string> {
    return (await this.#records()).mirror(runId);
  }

  async verify(runId: string, signatures?: ApprovalSignatures): Promise<Verification> {
    return (await this.#records()).verify(runId, signatures);
  }

  async record(runId: string): Promise<RecordState> {
    return (await this.#records()).record(runId);
  }

  async recover(request: RecoveryRequest): Promise<Run> {
    return (await this.#records()).recover(request);
  }

  async restore(runId: string): Promise<Run> {
    return (await this.#records()).restore(runId);
  }

  async forgetPrompts(runId: string): Promise<readonly string[]> {
    return (await this.#records()).forgetPrompts(runId);
  }

  async prune(request: PruneRequest): Promise<PruneResult> {
    return (await this.#records()).prune(request);
  }
}

const shownLost = 5;

function lostTexts(lost: readonly string[]): string[] {
  const more = lost.length - shownLost;
  return [
    ...lost
      .slice(0, shownLost)
      .map(
        (runId) => `${runId} is in a folder of this host, and the database lost it: ./core recover ${runId}`,
      ),
    ...(more > 0 ? [`${more} more runs are in folders of this host, and the database lost them`] : []),
  ];
}
