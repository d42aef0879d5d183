import { sha256 } from '#kit/digest.ts';
import { codeOf, Refused } from '#kit/errors.ts';
import type { NamedRun, PlanRequest } from '../agent.ts';
import type { RunRequest } from './event.ts';
import type { RunStore } from './run-store.ts';

export type KeyedRequest = PlanRequest & { readonly idempotency_key: string };

export interface KeyedRunWork {
  /** Called only if the key is new, or if the request may differ from the first request with this key. */
  readonly resolve: () => Promise<RunRequest>;
  /** Called before a run is made; throws to refuse. */
  readonly mayCreate: () => void;
}

/**
 * The run that callers name by a key. The same key gives the same run, also for concurrent requests in one process or several.
 * @throws Refused (`idempotency_key_reused`) if the key belongs to a different request
 */
export async function keyedRun(
  store: Pick<RunStore, 'begin' | 'withKey'>,
  request: KeyedRequest,
  { resolve, mayCreate }: KeyedRunWork,
): Promise<NamedRun> {
  const known = await store.withKey(request.idempotency_key);
  if (known !== null && asksForTheSame(known.request, request)) return { run: known, created: false };
  const wanted = await resolve();
  if (known === null) {
    mayCreate();
    try {
      return { run: await store.begin(wanted, request.task), created: true };
    } catch (error) {
      if (codeOf(error) !== 'idempotency_key_taken') throw error;
    }
  }
  const run = known ?? (await store.withKey(request.idempotency_key))!;
  requireSameRequest(run.request, wanted, request);
  return { run, created: false };
}

/** True if the two requests are equal without asking a forge; false if only a forge can decide. */
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

/** Ignores the planner if the request names none, because the default may have changed since. */
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
