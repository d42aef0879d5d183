import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { sha256 } from '#kit/digest.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, Refused } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { NamedRun, PlanRequest } from '../agent.ts';
import type { RunRequest } from './event.ts';
import type { Run } from './run.ts';
import { allRuns, type Lease, patientLease, type RunStore } from './run-store.ts';

export type KeyedRequest = PlanRequest & { readonly idempotency_key: string };

type Store = Pick<RunStore, 'begin' | 'abandon' | 'read' | 'list' | 'lease'> & { readonly stateDir: string };

export interface KeyedRunWork {
  /** Only asked where the key is new, or comes with what may be another request. */
  readonly resolve: () => Promise<RunRequest>;
  /** Called before a run is made; throws to refuse. */
  readonly mayCreate: () => void;
  readonly signal: AbortSignal;
}

/**
 * The run that callers name by a key. The same key gives the same run, also for concurrent requests in one process or several.
 * The note of which run a key named is written after the run, so that a crash between the two is found by looking through the
 * issue's runs.
 * @throws Refused (`idempotency_key_reused`) when the key came with another request before
 */
export async function keyedRun(store: Store, request: KeyedRequest, work: KeyedRunWork): Promise<NamedRun> {
  const key = sha256(request.idempotency_key);
  for (;;) {
    const lease = await patientLease(store, `idempotency ${key}`, work.signal);
    try {
      return await keyedRunUnder(lease, join(store.stateDir, 'idempotency', key), store, request, work);
    } catch (error) {
      // Whoever took it since may have made the run.
      if (!lease.lost.aborted) throw error;
    } finally {
      await lease.release();
    }
  }
}

async function keyedRunUnder(
  lease: Lease,
  note: string,
  store: Store,
  request: KeyedRequest,
  { resolve, mayCreate }: KeyedRunWork,
): Promise<NamedRun> {
  const noted = existsSync(note) ? await notedRun(store, readSmallFile(note)) : null;
  if (noted !== null && asksForTheSame(noted.request, request)) return { run: noted, created: false };
  const wanted = await resolve();
  const known = noted ?? (await runWithKey(store, wanted));
  if (known === null) mayCreate();
  else requireSameRequest(known.request, wanted, request);
  const run = known ?? (await store.begin(wanted, request.task, lease.name));
  crashPoint('run.before_note');
  try {
    if (noted === null) {
      makePrivateFolder(dirname(note));
      writeFileDurably(note, run.run_id);
    }
  } catch (error) {
    // Whoever asks again with the key finds the run, on any host, and plans it.
    if (known === null) await store.abandon(run.run_id);
    throw error;
  }
  return { run, created: known === null };
}

/** null of a run that a database lost, and nobody has. */
async function notedRun(store: Store, runId: string): Promise<Run | null> {
  try {
    return await store.read(runId);
  } catch (error) {
    if (codeOf(error) === 'run_not_found') return null;
    throw error;
  }
}

async function runWithKey(store: Store, wanted: RunRequest): Promise<Run | null> {
  const { forge, owner, repo, number, idempotency_key } = wanted;
  const same = { forge, owner, repo, ...(number === null ? {} : { number }) };
  for (const { run_id } of await allRuns(store, same)) {
    const run = await store.read(run_id);
    if (run.request.idempotency_key === idempotency_key) return run;
  }
  return null;
}

/** True if the two are equal without asking a forge; false where only a forge can decide. */
function asksForTheSame(
  known: RunRequest,
  { forge, role, planner, dry_run, keep, anyway, event_actor, ...asked }: KeyedRequest,
): boolean {
  return (
    known.owner === asked.owner &&
    known.repo === asked.repo &&
    known.number === (asked.number ?? null) &&
    known.task?.content === (asked.task === undefined ? undefined : sha256(asked.task)) &&
    known.note?.text === asked.note &&
    known.forge === (forge ?? known.forge) &&
    known.role.toLowerCase() === (role ?? 'Depute').toLowerCase() &&
    (known.agent ?? known.planner) === (planner ?? known.agent ?? known.planner) &&
    known.dry_run === (dry_run ?? false) &&
    // The right of an actor is looked up once, when the run is made.
    (event_actor !== undefined || (known.keep ?? false) === (keep ?? false)) &&
    (known.anyway ?? false) === (anyway ?? false)
  );
}

/** Which planner plans where none is asked for may have changed since. */
function requireSameRequest(known: RunRequest, wanted: RunRequest, asked: PlanRequest): void {
  const before = compared(known);
  for (const [field, now] of Object.entries(compared(wanted))) {
    const then = before[field as keyof typeof before];
    if (field === 'keep' && asked.event_actor !== undefined) continue;
    if (then === now || ((field === 'planner' || field === 'agent') && asked.planner === undefined)) continue;
    throw new Refused(
      'idempotency_key_reused',
      `the key '${wanted.idempotency_key}' came with ${field} '${then}' before, now with '${now}'; use a new key`,
    );
  }
}

function compared({ keep, anyway, task, note, agent, ...request }: RunRequest) {
  const { forge, owner, repo, number, role, planner, dry_run } = request;
  const options = { dry_run, keep: keep ?? false, anyway: anyway ?? false };
  const named = {
    forge,
    owner,
    repo,
    number,
    task: task?.content ?? null,
    note: note?.text ?? null,
    role,
    planner,
  };
  return { ...named, agent: agent ?? null, ...options };
}
