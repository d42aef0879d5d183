import { setTimeout } from 'node:timers/promises';
import type { RecordState, RunList } from '#kit/contracts/run.ts';
import { codeOf } from '#kit/errors.ts';
import type { Permit } from '#kit/permit.ts';
import type { Risk } from '../action.ts';
import type { PruneRequest, PruneResult, RecoveryRequest, Verification } from '../agent.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import type { NewEvent, RunEvent, RunRequest } from './event.ts';
import type { JudgedRun, Run, RunStatus, RunSummary } from './run.ts';

/** Page of runs, newest first. `problems` names runs that only this host has if the database has none, and unreadable approval settings. */
export type RunPage = RunList;

export interface RunQuery {
  /** 1 to 100. */
  readonly limit: number;
  readonly cursor?: string;
  readonly status?: RunStatus;
  readonly owner?: string;
  readonly repo?: string;
  readonly forge?: string;
  readonly number?: number;
  /** Words, all of which the title or `owner/repo#number` holds in any case. */
  readonly text?: string;
  /** Made at this time or later, as `toISOString` writes it. */
  readonly since?: string;
  /** Made before it. */
  readonly until?: string;
  /** The highest risk of its actions is this one or a higher one. */
  readonly risk?: Risk;
  /** A token or an account that asked for the run, in any case. */
  readonly asker?: string;
  /** A person or a token that decided about one of its actions, in any case. */
  readonly decider?: string;
  /** Only these runs. */
  readonly among?: readonly string[];
  /** Without plannings that ended before there was a plan. */
  readonly without_failed_plannings?: boolean;
}

/**
 * A named, exclusive right for a while; renews itself until released. Dies with its process. Who took the executor's lease of a
 * run and lost it cannot append to the run.
 */
export interface Lease {
  readonly name: string;
  /** Aborted when the lease was lost, for example after the machine slept. */
  readonly lost: AbortSignal;
  /** True if its holders may be on other hosts, with their own clocks. */
  readonly shared: boolean;
  /** Leave to make an effect under it. @throws Conflict (`lease_lost`) */
  permit(): Promise<Permit>;
  /** Others can take it when this resolves. Never rejects. */
  release(): Promise<void>;
}

export interface RunChanges {
  /** Bytes of the event log of each; -1 of a pruned run. */
  readonly sizes: ReadonlyMap<string, number>;
  /** True if `sizes` has all runs, because there was no position or it is no longer valid. */
  readonly all: boolean;
  /** Position for the next call, which misses no change that is not in `sizes`; null if there is none. */
  readonly position: string | null;
}

/** Repository of the current folder; called only if the answer depends on it. */
export type RepositoryHere = () => Promise<(RepositoryRef & { readonly forge?: string }) | null>;

/** Purpose of a command. Runs of an issue that it can be done with are preferred. */
export type RunNeed = 'show' | 'decide' | 'execute' | 'resume' | 'undo';

/** Rules for a word that can mean several runs. */
export interface RunChoice {
  /** The repository that is meant by `last`, if it has runs, and if several have an issue with the number. */
  readonly here?: RepositoryHere;
  /** Default `show`. */
  readonly need?: RunNeed;
  /** Judges approvals of a run as they count now; by default, as the record says. */
  readonly judge?: (run: Run) => Promise<JudgedRun>;
  /** The forge of an issue, if it is known; default any. */
  readonly forge?: string;
  /** Receives the other runs of the issue, newest first, if there are any. */
  readonly others?: (runs: readonly RunSummary[]) => void;
}

/**
 * Durable runs. `append` is the only way to change one: under the run's append lock it reads the newest state, asks
 * `decide` what happens, and makes the answer durable before it returns. `decide` throws to refuse; nothing is written then.
 */
export interface RunStore {
  /** Where this host keeps its clones and the folders of runs. */
  readonly stateDir: string;
  /**
   * @param task text of the request's task, stored with the run
   * @throws Conflict (`idempotency_key_taken`) if another run has the request's key
   */
  create(request: RunRequest, task?: string): Promise<Run>;
  /**
   * As `create`, for a run that is planned next. It does not look interrupted before `lease` is called for its executor's lease.
   */
  begin(request: RunRequest, task?: string): Promise<Run>;
  /** Run whose request has this idempotency key; null if there is none. @throws NotFound (`run_pruned`) */
  withKey(idempotencyKey: string): Promise<Run | null>;
  /** A run that was begun is not planned after all. */
  abandon(runId: string): Promise<void>;
  /**
   * Takes a full id or a unique prefix, with or without `run_`; or `last`, and an issue as `12`, `#12` or `owner/repo#12`.
   * @throws NotFound (`run_not_found`), InvalidInput (`run_ambiguous`)
   */
  resolve(name: string, choice?: RunChoice): Promise<string>;
  read(runId: string): Promise<Run>;
  events(runId: string, afterSeq?: number): Promise<RunEvent[]>;
  list(query: RunQuery): Promise<RunPage>;
  /** Number of runs. */
  count(): Promise<number>;
  append(runId: string, decide: (run: Run) => readonly NewEvent[]): Promise<Run>;
  /** Content-addressed and durable when it returns; the sha256. */
  putArtifact(runId: string, content: string | Uint8Array): Promise<string>;
  /** @throws NotFound (`artifact_not_found`), Failed (`artifact_damaged`) when the bytes do not have this digest */
  artifact(runId: string, digest: string): Promise<Uint8Array>;
  /** Checks that every artifact that an event names is there, as it was stored. @throws Conflict (`artifact_differs`) */
  requireArtifacts(runId: string): Promise<void>;
  /** Checks that the events are the acknowledged events. @throws Failed (`run_damaged`, `record_cut`), Conflict (`database_behind`) */
  requireSound(runId: string): Promise<void>;
  /** Checks that events and artifacts are intact, and that views match the events. @throws Conflict (`artifact_differs`, `view_altered`) */
  requireUnaltered(runId: string): Promise<void>;
  /** @throws Conflict (`lease_held`) naming the holder. */
  lease(name: string): Promise<Lease>;
  /** Ends a command or request: makes the run's head durable and rewrites the views of its folder from its newest event. */
  writeViews(runId: string): Promise<void>;
  /** Writes this host's folder of the run again, as far as it is made of the record. @returns the folder */
  mirror(runId: string): Promise<string>;
  /** Checks the record of a run. Checks signatures of approvals only if `signatures` is given. */
  verify(runId: string, signatures?: ApprovalSignatures): Promise<Verification>;
  /** State of a run's record, compared with its newest acknowledged event. */
  record(runId: string): Promise<RecordState>;
  /** Lets a run with a damaged record continue from its last sound event. @throws Conflict (`record_whole`, `record_lost`, `lease_held`) */
  recover(request: RecoveryRequest): Promise<Run>;
  /**
   * Restores events and artifacts that the database lost, from the mirror on this host.
   * @throws Conflict (`record_whole`, `mirror_behind`, `database_behind` if the run continued without them, `lease_held`)
   */
  restore(runId: string): Promise<Run>;
  /** Deletes what models and agents were sent and answered. Keeps the events that name it. @returns digests of deleted artifacts */
  forgetPrompts(runId: string): Promise<readonly string[]>;
  prune(request: PruneRequest): Promise<PruneResult>;
  /** Runs whose event log may have changed since a position, without reading any; all of them for null. */
  changes(position: string | null): Promise<RunChanges>;
  /** Bytes of one event log; -1 without one. */
  logSize(runId: string): Promise<number>;
  /** When the event log of a run was written last, in milliseconds since 1970; now without one. */
  changedAt(runId: string): Promise<number>;
  /**
   * Calls `look` when any process may have changed a run, or any run for null. It may be called without a change.
   * @returns ends it
   */
  watch(runId: string | null, look: () => void): () => void;
  /** Releases leases, and closes files and connections. */
  close(): Promise<void>;
}

/** Every page of a list, newest run first. */
export async function allRuns(
  store: Pick<RunStore, 'list'>,
  query: Omit<RunQuery, 'limit' | 'cursor'>,
): Promise<RunSummary[]> {
  const found: RunSummary[] = [];
  let cursor: string | null = null;
  do {
    const page: RunPage = await store.list({ ...query, limit: 100, ...(cursor === null ? {} : { cursor }) });
    found.push(...page.runs);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

/** Run of a list; null if it was removed since or cannot be read, so that the other runs are still shown. */
export async function readableRun(store: Pick<RunStore, 'read'>, runId: string): Promise<Run | null> {
  try {
    return await store.read(runId);
  } catch (error) {
    if (['run_not_found', 'run_pruned', 'record_cut', 'run_damaged'].includes(String(codeOf(error))))
      return null;
    throw error;
  }
}

/** Names of the leases that more than one part of the service has to agree on. */

/** Lease of the process that plans, executes or undoes a run. If no live process holds it, such a run is `interrupted`. */
export function executorLease(runId: string): string {
  return `run ${runId}`;
}

/** One writer for each branch of a repository. */
export function branchLease(target: {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
}): string {
  return `branch ${target.forge}/${target.owner}/${target.repo}/${target.branch}`;
}

/** Held while the plan of an issue is sealed or decided about, so that of two plans one sees the other, and what is decided. */
export function issueLease(issue: {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  readonly number: number | null;
}): string {
  return `issue ${issue.forge}/${issue.owner}/${issue.repo}#${issue.number ?? 'tasks'}`;
}

const lookEveryMs = 50;

/** Takes a lease that others hold for a moment only, waiting for them. */
export async function patientLease(
  store: Pick<RunStore, 'lease'>,
  name: string,
  signal?: AbortSignal,
): Promise<Lease> {
  for (;;) {
    try {
      return await store.lease(name);
    } catch (error) {
      if (codeOf(error) !== 'lease_held') throw error;
      await setTimeout(lookEveryMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}
