import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { EventActor } from '#kit/contracts/plan.ts';
import { sha256 } from '#kit/digest.ts';
import { InvalidInput, Refused } from '#kit/errors.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { PlanRequest } from './agent.ts';
import type { ConfiguredForge } from './forges/configured-forge.ts';
import { forgeFor } from './forges/find-forge.ts';
import { checkNumber } from './forges/names.ts';
import { plannerFor } from './planners/registry.ts';
import type { PlannerServices } from './planning/planner.ts';
import { planningRole } from './planning/roles.ts';
import type { Forge, RepositoryRef } from './ports/forge.ts';
import type { RunRequest } from './runs/event.ts';

export interface RequestParts {
  readonly planners: PlannerServices;
  readonly forges: ReadonlyMap<string, ConfiguredForge>;
  readonly secrets: SecretFinder;
  /** Also the one of smoke tests, which is in no configuration. @throws Failed (`forge_not_configured`) */
  forgeNamed(name: string): ConfiguredForge;
}

/**
 * Resolves forge, role and planner of a request, and asks the forge for the issue: without it there is no run.
 * @throws NotFound, Conflict, InvalidInput, Refused (`issue_is_pull_request`, and of `isOutsider`), and what forges throw
 */
export async function runRequest(
  { planners, forges, forgeNamed, secrets }: RequestParts,
  request: PlanRequest,
  signal: AbortSignal,
): Promise<RunRequest> {
  const { number = null, task, note } = request;
  requireOneSubject(number, task);
  if (task !== undefined) requireNoSecret('task', task, secrets);
  if (note !== undefined) requireNoSecret('note', note, secrets);
  const trusted = request.by.scopes.includes('approve');
  const role = planningRole(planners.agents, request.role ?? 'Depute');
  const smoke = request.forge === smokeForge.name;
  const forge = smoke ? forgeNamed(smokeForge.name) : await forgeFor(forges, request, signal);
  const { owner, repo } = await forge.repository(request, signal);
  const outsider = await isOutsider(forge, { owner, repo }, request.event_actor, signal);
  const planner = plannerFor(planners, smoke ? 'patch' : request.planner);
  if (number !== null) await forge.issue({ owner, repo }, number, signal);
  return {
    forge: forge.name,
    owner,
    repo,
    number,
    task: task === undefined ? undefined : { content: sha256(task), trusted },
    note: note === undefined ? undefined : { text: note, trusted },
    role: role.name,
    planner: planner.planner,
    agent: planner.agent ?? undefined,
    dry_run: request.dry_run ?? false,
    keep: request.keep === true || outsider ? true : undefined,
    anyway: request.anyway === true ? true : undefined,
    requested_by: request.by.name,
    idempotency_key: request.idempotency_key ?? null,
    trigger: request.trigger,
  };
}

/**
 * True for an account whose event must not replace a plan of others. It may make one only with `by` set to `anyone`.
 * @throws Refused (`actor_lacks_right`, `actor_right_unknown`)
 */
async function isOutsider(
  forge: Forge,
  ref: RepositoryRef,
  actor: EventActor | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (actor === undefined) return false;
  const { login, needs } = actor;
  const { right, reason } = await forge.right(ref, login, signal);
  if (needs === 'anyone') return right !== 'write' && right !== 'triage';
  if (right === 'write' || (right === 'triage' && needs === 'triage')) return false;
  const rule = `by of ingress in config/bridge.json is "${needs}"`;
  const where = `${ref.owner}/${ref.repo}`;
  const hint = `Plan the issue yourself with core plan-issue, or set by to "anyone".`;
  if (right === null)
    throw new Refused('actor_right_unknown', `${rule}, and the right of ${login} is unknown: ${reason}`, {
      hint: `Give the account of the forge's token the right to ask: push access on GitHub, administration of ${where} on Gitea. ${hint}`,
    });
  throw new Refused(
    'actor_lacks_right',
    `${rule}, and ${login} has ${right === 'none' ? 'neither the right to write nor to triage' : 'only the right to triage'} in ${where}`,
    { hint },
  );
}

/** @throws InvalidInput (`issue_or_task`, `invalid_issue_number`) */
function requireOneSubject(number: number | null, task: string | undefined): void {
  if (number !== null) checkNumber(number);
  if ((number === null) !== (task === undefined)) return;
  const given = number === null ? 'neither' : 'both';
  throw new InvalidInput(
    'issue_or_task',
    `a planning is asked for with ${given}: it must have the number of an issue, or a task`,
  );
}

/** Both are stored as they are. @throws InvalidInput (`task_holds_secret`, `note_holds_secret`) */
function requireNoSecret(what: 'task' | 'note', text: string, secrets: SecretFinder): void {
  if (secrets.prose.mask(text) === text) return;
  throw new InvalidInput(
    what === 'task' ? 'task_holds_secret' : 'note_holds_secret',
    `the ${what} holds what looks like a secret, and ${what}s are stored`,
    {
      hint: 'Leave it out; released_secrets of policy.json names what is none.',
    },
  );
}
