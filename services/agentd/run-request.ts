import { smokeForge } from '#kit/config/smoke-forge.ts';
import { sha256 } from '#kit/digest.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { PlanRequest } from './agent.ts';
import type { ConfiguredForge } from './forges/configured-forge.ts';
import { forgeFor } from './forges/find-forge.ts';
import { checkNumber } from './forges/names.ts';
import { plannerFor } from './planners/registry.ts';
import type { PlannerServices } from './planning/planner.ts';
import { planningRole } from './planning/roles.ts';
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
 * @throws NotFound, Conflict, InvalidInput, Refused (`issue_is_pull_request`), and what forges throw
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
    keep: request.keep === true ? true : undefined,
    anyway: request.anyway === true ? true : undefined,
    requested_by: request.by.name,
    idempotency_key: request.idempotency_key ?? null,
    trigger: request.trigger,
  };
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
  if (secrets.mask(text) === text) return;
  throw new InvalidInput(
    what === 'task' ? 'task_holds_secret' : 'note_holds_secret',
    `the ${what} holds what looks like a secret, and ${what}s are stored`,
    {
      hint: 'Leave it out; released_secrets of policy.json names what is none.',
    },
  );
}
