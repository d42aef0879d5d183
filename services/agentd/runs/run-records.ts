import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { uuidv7 } from 'uuidv7';
import type { RecordState } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { changeNumber } from '#kit/database/change-numbers.ts';
import { outcomeOf } from '#kit/database/commit-unknown.ts';
import { type Database, places, rowLock, type Sql } from '#kit/database/database.ts';
import type { FencedLeases } from '#kit/database/fenced-leases.ts';
import { sha256 } from '#kit/digest.ts';
import { Conflict, CoreError, codeOf, messageOf } from '#kit/errors.ts';
import { mapTexts } from '#kit/map-texts.ts';
import { once } from '#kit/once.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { FoundProblem, PruneRequest, PruneResult, RecoveryRequest, Verification } from '../agent.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import type { BegunLeases } from './begun-leases.ts';
import type { NewEvent, RunEvent, RunRequest } from './event.ts';
import {
  artifactReferences,
  checkDigest,
  isConversation,
  missingArtifact,
  requireDigest,
} from './log/artifacts.ts';
import { beforeFirst, writeLines } from './log/event-line.ts';
import { fold, foldMore } from './log/fold.ts';
import { artifactsName, checkRunId, isRunId, notFound } from './log/run-folder.ts';
import { requireKept } from './log/tombstone.ts';
import { behindText, databaseBehind, newestHead } from './mirror/behind.ts';
import { HostMirror } from './mirror/host-mirror.ts';
import { KnownHere } from './mirror/known-here.ts';
import { cutRows } from './mirror/recover.ts';
import { restoreRows } from './mirror/restore.ts';
import { folderOf, logStats } from './mirror/run-folder-log.ts';
import { prune } from './prune.ts';
import { appendRows, insertLines, linesOf } from './rows/append-rows.ts';
import { recordInRows, summaryProblems } from './rows/record-in-rows.ts';
import { RunArtifacts, type RunObjects } from './rows/run-artifacts.ts';
import { summaryColumns, valuesOf, whichArePruned } from './rows/run-rows.ts';
import { type LookedAt, type StoredRun, StoredRuns, seenRun } from './rows/stored-runs.ts';
import type { Run } from './run.ts';
import { RunFolders } from './run-folders.ts';
import { executorLease } from './run-store.ts';
import { alteredViews, requireArtifacts, requireViews } from './verify/files.ts';
import { stateOf } from './verify/recover.ts';
import { verificationOf, verifyFolder, verifyRecord } from './verify/verify.ts';

/** Opens the masking of all texts in events. Called before the first write; each append reads `current`. */
export type OpenMask = () => Promise<{ readonly current: Pick<SecretFinder, 'mask'> }>;

export interface RunRecordsOptions {
  readonly stateDir: string;
  readonly database: Database;
  /** A bucket for large artifacts; null if all are in the database. */
  readonly objects: RunObjects | null;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly secrets: OpenMask;
  /** Called when this host's folders of runs fall behind the database, and when they are up to date again. */
  readonly warn: (message: string) => void;
  readonly leases: FencedLeases;
  readonly begun: BegunLeases;
}

/** Append that is being committed. */
interface Appended {
  readonly before: StoredRun;
  readonly after: StoredRun;
  /** Lines of its events. */
  readonly text: string;
}

/** Reads, writes and verifies the events of runs. */
export class RunRecords {
  readonly #stateDir: string;
  readonly #database: Database;
  readonly #objects: RunObjects | null;
  readonly #artifacts: RunArtifacts;
  readonly #mirror: HostMirror;
  readonly #leases: FencedLeases;
  readonly #runs = new StoredRuns();
  readonly #begun: BegunLeases;
  readonly #known: KnownHere;
  readonly #clock: () => number;
  readonly #secrets: OpenMask;

  constructor({ stateDir, database, objects, leases, begun, clock, secrets, warn }: RunRecordsOptions) {
    this.#stateDir = stateDir;
    this.#known = new KnownHere(stateDir);
    this.#database = database;
    this.#objects = objects;
    this.#artifacts = new RunArtifacts(database, objects);
    this.#mirror = new HostMirror({ stateDir, database, artifacts: this.#artifacts, warn });
    this.#clock = clock;
    this.#secrets = once(secrets);
    this.#leases = leases;
    this.#begun = begun;
  }

  create(request: RunRequest, task?: string): Promise<Run> {
    return this.#create(newRunId(), request, task);
  }

  async begin(request: RunRequest, task?: string): Promise<Run> {
    const runId = newRunId();
    const lease = await this.#leases.acquire(executorLease(runId));
    try {
      const run = await this.#create(runId, request, task);
      this.#begun.put(lease);
      return run;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async withKey(idempotencyKey: string): Promise<Run | null> {
    const [row] = await this.#database.query<{ run_id: string }>(
      'SELECT run_id FROM runs WHERE key_digest = $1',
      [sha256(idempotencyKey)],
    );
    return row === undefined ? null : this.read(row.run_id);
  }

  /** Ids of runs that the database lost and this host has, newest first. @param prefix beginning of the ids */
  async lostRuns(prefix = ''): Promise<readonly string[]> {
    // Saves events that only this process has to the folder.
    if (isRunId(prefix)) await this.#known.lost(this.#database, prefix);
    const here = new RunFolders(this.#stateDir).runIds(prefix);
    const there = await whichArePruned(this.#database, here);
    return here.filter(
      (runId) => !there.has(runId) && logStats({ stateDir: this.#stateDir, runId }) !== null,
    );
  }

  async read(runId: string): Promise<Run> {
    return seenRun(await this.#read(runId));
  }

  async events(runId: string, afterSeq = 0): Promise<RunEvent[]> {
    return (await this.#read(runId)).stored.events.slice(afterSeq);
  }

  /**
   * Calls `decide` with all events, read in the transaction that appends. An append stops at rows that were damaged after an earlier
   * read.
   */
  async append(runId: string, decide: (run: Run) => readonly NewEvent[]): Promise<Run> {
    checkRunId(runId);
    const { mask } = (await this.#secrets()).current;
    let appended: Appended | null = null;
    const write = () =>
      this.#database.transaction(async (sql) => {
        await this.#leases.fence(sql, executorLease(runId));
        const found = await this.#runs.readLocked(sql, runId);
        await this.#known.require(sql, runId, found.stored.events);
        const events = mapTexts(decide(seenRun(found)), mask);
        if (events.length === 0) return seenRun(found);
        appended = { before: found.stored, ...this.#extended(found.stored, events) };
        crashPoint('events_decided');
        await appendRows(sql, found.stored, appended.after, appended.text);
        return seenRun({ stored: appended.after, worked: found.worked });
      });
    try {
      const run = await outcomeOf(write, () => this.#again(write, appended));
      if (appended !== null) this.#acknowledged(appended);
      return run;
    } catch (error) {
      throw await this.#known.explain(this.#database, runId, error);
    }
  }

  async putArtifact(runId: string, content: string | Uint8Array): Promise<string> {
    checkRunId(runId);
    const bytes = Buffer.from(content as string);
    if (!(await this.#artifacts.put(runId, bytes))) await this.read(runId);
    const digest = sha256(bytes);
    await this.#mirror.keep(runId, digest, bytes);
    return digest;
  }

  async artifact(runId: string, digest: string): Promise<Uint8Array> {
    checkDigest(digest);
    checkRunId(runId);
    const content = await this.#artifacts.read(runId, digest);
    if (content === null) {
      await this.read(runId);
      throw missingArtifact(digest);
    }
    requireDigest(content, digest);
    return content;
  }

  async requireArtifacts(runId: string): Promise<void> {
    const events = await this.events(runId);
    const found = await this.#artifacts.digests(runId);
    requireArtifacts(runId, (digest) => found.get(digest) ?? null, events);
  }

  async requireSound(runId: string): Promise<void> {
    const behind = await this.#known.behind(this.#database, checkRunId(runId));
    if (behind !== null) throw databaseBehind(runId, behind);
    this.#known.requireNotPruned(runId);
    await this.#database.transaction((sql) => this.#runs.readLocked(sql, runId));
  }

  async requireUnaltered(runId: string): Promise<void> {
    await this.requireSound(runId);
    await this.requireArtifacts(runId);
    const folder = this.#folder(runId);
    for (let events = await this.events(runId); existsSync(folder); ) {
      const before = events.at(-1)!.hash;
      const altered = alteredViews(runId, folder, events);
      if (altered.length === 0) return;
      // Another process of this host may have appended events and written the views meanwhile.
      events = await this.events(runId);
      if (events.at(-1)!.hash === before) return requireViews(runId, folder, events);
    }
  }

  async writeViews(runId: string): Promise<void> {
    // Read before the database: events appended in between would otherwise look lost.
    const acknowledged = this.#known.acknowledged(runId);
    const { stored } = await this.#read(runId);
    await this.#known.require(this.#database, runId, stored.events, acknowledged);
    await this.#mirror.follow(runId);
  }

  async mirror(runId: string): Promise<string> {
    await this.read(runId);
    await this.#mirror.rewrite(runId);
    return this.#folder(runId);
  }

  /** Checks what the database holds, and this host's folder, if it has one. */
  async verify(runId: string, signatures?: ApprovalSignatures): Promise<Verification> {
    const { record, behind } = await this.#record(runId);
    const artifacts = await this.#artifacts.digests(runId);
    const checked = verifyRecord({ ...record, artifacts }, signatures);
    const rows = verificationOf(runId, checked);
    const shown = checked.sound ? await summaryProblems(this.#database, runId, checked.events) : [];
    const lost = behind === null ? [] : [{ where: 'database', what: behindText(runId, behind) }];
    // The database lost the run, so there are no rows to check.
    const found = record.log === null ? { ...rows, problems: [] } : rows;
    return { ...found, problems: [...lost, ...found.problems, ...shown, ...this.#folderProblems(runId)] };
  }

  /** Problems of this host's folder. A folder that cannot be read is one problem, because it is only a copy. */
  #folderProblems(runId: string): FoundProblem[] {
    if (!existsSync(this.#folder(runId))) return [];
    try {
      const { problems } = verifyFolder(runId, join(this.#stateDir, 'runs'));
      return problems.map(({ where, what }) => ({ where: `mirror on this host: ${where}`, what }));
    } catch (error) {
      if (!(error instanceof CoreError) && codeOf(error) === undefined) throw error;
      const what = `${messageOf(error)}; ./core mirror ${runId} writes it again`;
      return [{ where: 'mirror on this host', what }];
    }
  }

  async record(runId: string): Promise<RecordState> {
    const { record, behind } = await this.#record(runId);
    if (behind === null) return stateOf(record);
    return {
      ...stateOf({ ...record, acknowledged: newestHead(record.acknowledged, behind) }),
      problem: behindText(runId, behind),
      restorable: behind.others === 0 && (record.acknowledged?.seq ?? 0) <= behind.head.seq,
    };
  }

  /** @throws NotFound (`run_not_found`, `run_pruned`) if neither the database nor this host has the run */
  async #record(runId: string) {
    const behind = await this.#known.behind(this.#database, checkRunId(runId));
    const record = await recordInRows(this.#database, runId);
    if (record.log === null && behind === null) throw notFound(runId);
    return { record, behind };
  }

  async recover(request: RecoveryRequest): Promise<Run> {
    const { run_id } = request;
    return this.#mended(run_id, async (sql) => {
      const { stored, event } = await cutRows(sql, request, await this.#known.behind(sql, run_id));
      const { after, text } = this.#extended(stored, [event]);
      await appendRows(sql, stored, after, text);
    });
  }

  async restore(runId: string): Promise<Run> {
    return this.#mended(runId, (sql) => restoreRows(sql, { stateDir: this.#stateDir, runId }));
  }

  /** @param work part of a transaction during which no other process appends to the run */
  async #mended(runId: string, work: (sql: Sql) => Promise<void>): Promise<Run> {
    const name = executorLease(checkRunId(runId));
    const lease = this.#begun.take(name) ?? (await this.#leases.acquire(name));
    try {
      await this.#database.transaction(async (sql) => {
        await this.#leases.fence(sql, name);
        const rows = await sql.query<{ tombstone: string | null }>(
          `SELECT tombstone FROM runs WHERE run_id = $1 ${rowLock(sql, 'FOR UPDATE')}`,
          [runId],
        );
        requireKept(runId, rows[0]?.tombstone ?? null);
        await work(sql);
      });
      this.#database.signals.notify(runId);
      return await this.read(runId);
    } finally {
      await lease.release();
    }
  }

  async forgetPrompts(runId: string): Promise<readonly string[]> {
    const events = await this.events(runId);
    const named = (some: readonly RunEvent[]) =>
      new Set(some.flatMap(artifactReferences).map(({ digest }) => digest));
    const kept = named(events.filter((event) => !isConversation(event)));
    const stored = new Set(await this.#artifacts.names(runId));
    const forgotten = [...named(events.filter(isConversation))].filter(
      (digest) => stored.has(digest) && !kept.has(digest),
    );
    await this.#artifacts.remove(runId, forgotten);
    for (const digest of forgotten) rmSync(join(this.#folder(runId), artifactsName, digest), { force: true });
    return forgotten;
  }

  async prune(request: PruneRequest): Promise<PruneResult> {
    const pruned = await prune(
      {
        database: this.#database,
        objects: this.#objects?.store ?? null,
        leases: this.#leases,
        stateDir: this.#stateDir,
        now: () => this.#now(),
        read: (runId) => this.read(runId),
        behind: (runId) => this.#known.behind(this.#database, runId),
      },
      request,
    );
    if (!request.dry_run) for (const runId of pruned.runs) this.#database.signals.notify(runId);
    return pruned;
  }

  async #create(runId: string, request: RunRequest, task?: string): Promise<Run> {
    const { mask } = (await this.#secrets()).current;
    const event: NewEvent = {
      type: 'run_created',
      data: { request: mapTexts(request, mask), head_kept: true },
    };
    const { lines, text } = writeLines(beforeFirst, this.#now(), [event]);
    const run = fold(runId, lines);
    const stored = { run, events: lines, lines: linesOf(text), size: Buffer.byteLength(text) };
    const key = request.idempotency_key;
    const keyDigest = key == null ? null : sha256(key);
    const values = [runId, run.head.seq, run.head.hash, event.type, keyDigest, ...valuesOf(run, stored.size)];
    const made = await outcomeOf(() =>
      this.#database.transaction(async (sql) => {
        const inserted = await sql.query(
          `INSERT INTO runs (run_id, seq, hash, type, key_digest, ${summaryColumns.join(', ')}, changed_at, changed_in)
           VALUES (${places(values)}, core_clock_ms(), ${changeNumber(sql, 'runs')})
           ON CONFLICT DO NOTHING RETURNING 1 AS inserted`,
          values,
        );
        // The run may exist already, from a commit whose answer was lost.
        if (inserted.length === 0) return this.#isStored(sql, runId);
        await insertLines(sql, runId, lines, text);
        if (task !== undefined) {
          const artifact = [runId, sha256(task), Buffer.from(task)];
          await sql.query(
            'INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3)',
            artifact,
          );
        }
        crashPoint('run_sent');
        return true;
      }),
    );
    if (!made) throw new Conflict('idempotency_key_taken', `another run has the idempotency key '${key}'`);
    crashPoint('run_committed');
    this.#put(stored);
    if (task !== undefined) await this.#mirror.keep(runId, sha256(task), Buffer.from(task));
    this.#database.signals.notify(runId);
    return run;
  }

  async #isStored(sql: Sql, runId: string): Promise<boolean> {
    return (await sql.query('SELECT 1 AS stored FROM runs WHERE run_id = $1', [runId])).length > 0;
  }

  /**
   * Repeats an append after a commit whose answer was lost. Writes the events again instead of looking for them. If the first commit
   * still arrives, it finds a different head and changes nothing.
   */
  async #again(write: () => Promise<Run>, appended: Appended | null): Promise<Run> {
    if (appended === null) return write();
    const { before, after, text } = appended;
    const run_id = before.run.run_id;
    const isWritten = await this.#database.transaction(async (sql) => {
      await this.#leases.fence(sql, executorLease(run_id));
      return (await appendRows(sql, before, after, text)) || (await this.#has(sql, after));
    });
    return isWritten ? this.read(run_id) : write();
  }

  #acknowledged({ after }: Appended): void {
    crashPoint('events_committed');
    this.#put(after);
    this.#database.signals.notify(after.run.run_id);
  }

  #extended(
    { run, events, lines: before, size }: StoredRun,
    added: readonly NewEvent[],
  ): { readonly after: StoredRun; readonly text: string } {
    const clock = this.#now();
    const at = clock > run.updated_at ? clock : run.updated_at;
    const { lines, text } = writeLines(run.head, at, added);
    const after = {
      run: foldMore(run, lines),
      events: [...events, ...lines],
      lines: [...before, ...linesOf(text)],
      size: size + Buffer.byteLength(text),
    };
    return { after, text };
  }

  async #has(sql: Sql, { run: { run_id, head } }: StoredRun): Promise<boolean> {
    const rows = await sql.query(
      'SELECT 1 AS present FROM run_events WHERE run_id = $1 AND seq = $2 AND hash = $3',
      [run_id, head.seq, head.hash],
    );
    return rows.length > 0;
  }

  async #read(runId: string): Promise<LookedAt> {
    try {
      return await this.#runs.read(this.#database, checkRunId(runId));
    } catch (error) {
      throw await this.#known.explain(this.#database, runId, error);
    }
  }

  #put(stored: StoredRun): void {
    this.#runs.put(stored.run.run_id, stored);
    this.#known.put(stored);
  }

  #now(): string {
    return new Date(this.#clock()).toISOString();
  }

  #folder(runId: string): string {
    return folderOf({ stateDir: this.#stateDir, runId });
  }
}

function newRunId(): string {
  return `run_${uuidv7()}`;
}
