import type { GivenSignature } from '#kit/contracts/action.ts';
import { Conflict, InvalidInput, NotFound, Refused } from '#kit/errors.ts';
import type { Approval, ApprovalState } from '../action.ts';
import { planOutdated } from '../actions/kind.ts';
import type { ActionDefinition } from '../actions/registry.ts';
import type { DecisionRequest, Person } from '../agent.ts';
import type { NewEvent } from '../runs/event.ts';
import { type ActionState, isActive, type Run } from '../runs/run.ts';
import { type ApprovalSignatures, requiredBy } from '../signatures/approval-signatures.ts';

/** The later of the clock and the run's last event: a clock set back never revives an expired approval. */
export function nowFor(run: Run): string {
  const clock = new Date().toISOString();
  return [clock, run.updated_at].toSorted().at(-1)!;
}

/**
 * The events of one decision, or a refusal that changes nothing. Either decision can be changed until the action has
 * started.
 */
export function decideActions(
  run: Run,
  request: DecisionRequest,
  expiresAfterDays: number,
  signatures: ApprovalSignatures,
): NewEvent[] {
  if (request.actions.length === 0)
    throw new InvalidInput('no_actions', 'no action is named; give at least one');
  if (request.decision === 'reject' && (request.reason ?? '').trim() === '') {
    throw new InvalidInput(
      'reason_required',
      'a rejection needs a reason: the next planning of this issue learns from it',
      {
        errors: [{ pointer: '/reason', detail: 'is missing: must be a string that is not empty' }],
      },
    );
  }
  checkRunTakesDecisions(run);
  if (request.decision === 'approve') {
    requireCompletePlan(run);
    if (request.anyway !== true) requireNoFailedValidation(run, request);
  }
  const at = nowFor(run);
  const expires_at = new Date(Date.parse(at) + expiresAfterDays * 86_400_000).toISOString();
  return request.actions.map(({ action_id, digest, seen_approval, signature }) => {
    const action = findAction(run, action_id);
    checkNotStarted(action);
    checkSeen(action, seen_approval);
    checkDigest(action.definition, digest);
    const approval: Approval = {
      decision: request.decision,
      approver: request.by.name,
      claimed_approver: request.claimed_approver,
      reason: request.reason,
      digest,
      at,
      expires_at: request.decision === 'approve' ? expires_at : null,
      signature: undefined,
    };
    return {
      type: 'approval_recorded',
      data: {
        action_id: action.definition.action_id,
        approval:
          signature === undefined
            ? unsigned(approval, signatures)
            : signed(run, action, approval, signature, signatures),
      },
    };
  });
}

/** @throws Refused (`signature_required`) */
function unsigned(approval: Approval, signatures: ApprovalSignatures): Approval {
  if (approval.decision === 'reject' || !signatures.required) return approval;
  throw new Refused('signature_required', `an approval must be signed (${requiredBy})`, {
    hint: 'approve --sign signs it with your SSH key.',
  });
}

/** Holds until the time that was signed. */
function signed(
  { run_id }: Run,
  { definition: { action_id }, decision: before }: ActionState,
  approval: Approval,
  { value, signed_at, expires_at }: GivenSignature,
  signatures: ApprovalSignatures,
): Approval {
  const { decision, digest, approver, at } = approval;
  const facts = { run_id, action_id, decision, digest, approver, signed_at, expires_at };
  const signer = signatures.accept(facts, value, at, before?.at ?? null);
  return { ...approval, expires_at, signature: { value, signed_at, ...signer } };
}

/**
 * What builds on a validation that failed is approved only by who says that it is meant so: it runs only once the validation
 * passes.
 * @throws Refused `validation_failed`
 */
function requireNoFailedValidation(run: Run, { actions: asked }: DecisionRequest): void {
  const validation = run.actions.find(({ outcome }) => outcome?.code === 'validation_failed');
  if (validation === undefined) return;
  const above = new Set([validation.definition.action_id]);
  for (const { definition } of run.actions)
    if (definition.depends_on.some((id) => above.has(id))) above.add(definition.action_id);
  const names = run.actions
    .filter(({ definition: { action_id } }) => asked.some((one) => one.action_id === action_id))
    .filter(
      ({ definition: { action_id } }) =>
        above.has(action_id) && validation.definition.action_id !== action_id,
    )
    .map(({ definition: { ordinal, kind } }) => `${ordinal} ${kind}`);
  if (names.length === 0) return;
  const { ordinal, kind } = validation.definition;
  throw new Refused(
    'validation_failed',
    `nothing was approved: ${names.join(', ')} ${names.length === 1 ? 'builds' : 'build'} on ${ordinal} ${kind}, which failed: ${validation.outcome!.message}`,
    {
      hint: 'Plan the issue again, or approve with --anyway (over HTTP "anyway": true): an execution validates again first, and goes on only where that passes.',
    },
  );
}

/** Nothing of a plan without these is approved or executed: what it would do is not all in what people see. */
export function requireCompletePlan({ run_id, plan }: Run): void {
  if (plan !== null && plan.target.forge_url === undefined) throw planOutdated(run_id);
}

/** @throws Conflict (`run_superseded`) naming the newer run */
export function requireNotSuperseded({ run_id, superseded_by }: Run): void {
  if (superseded_by === null) return;
  throw new Conflict(
    'run_superseded',
    `run ${run_id} was superseded: ${superseded_by} is a newer plan of the same issue`,
    {
      facts: { superseded_by },
      hint: `Look at the newer one: ./core show ${superseded_by}. --keep of plan-issue leaves waiting runs as they are.`,
    },
  );
}

export function findAction(run: Run, actionId: string): ActionState {
  const action = run.actions.find(({ definition }) => definition.action_id === actionId);
  if (action !== undefined) return action;
  const choices = run.actions.map(({ definition }) => definition.action_id).join(', ');
  throw new NotFound(
    'action_not_found',
    `run ${run.run_id} has no action '${actionId}'; it has ${choices || 'none'}`,
  );
}

/** Why an action may not run now, as far as its approval decides; null when it may. */
export function approvalProblem(action: ActionState, now: string): { code: string; message: string } | null {
  const { approval, decision, definition } = action;
  if (approval === 'rejected')
    return {
      code: 'action_rejected',
      message: `rejected by ${decision?.approver}: ${decision?.reason ?? 'no reason given'}`,
    };
  if (approval !== 'approved' || decision === null) {
    return { code: 'approval_required', message: `not approved; approval is ${approval}` };
  }
  if (decision.digest !== definition.digest) {
    return {
      code: 'digest_mismatch',
      message: `approved was ${decision.digest.slice(0, 12)}, the action is ${definition.digest.slice(0, 12)}`,
    };
  }
  if (decision.expires_at === null || decision.expires_at <= now) {
    return {
      code: 'approval_expired',
      message: `the approval by ${decision.approver} expired at ${decision.expires_at} (approval.expires_after_days of config/policy.json); approve it again`,
    };
  }
  return null;
}

function checkRunTakesDecisions(run: Run): void {
  if (run.plan === null)
    throw new Conflict(
      'run_not_planned',
      `run ${run.run_id} is ${run.status}: there is nothing to decide yet`,
    );
  requireNotSuperseded(run);
  if (run.status === 'cancelled' || run.undo !== null) {
    const undo = run.undo === null || run.status === 'undone' ? '' : ', and its undo has begun';
    throw new Conflict(
      'run_closed',
      `run ${run.run_id} is ${run.status}${undo}; plan the issue again for a new decision`,
    );
  }
}

function checkNotStarted(action: ActionState): void {
  if (action.state === 'pending' || action.state === 'refused' || action.state === 'blocked') return;
  const { ordinal, kind } = action.definition;
  throw new Conflict(
    'action_started',
    `${ordinal} ${kind} is ${action.state}; a decision can be changed only until the action starts`,
  );
}

function checkSeen({ definition, approval, decision }: ActionState, seen: ApprovalState | undefined): void {
  if (seen === undefined || seen === approval) return;
  const { ordinal, kind } = definition;
  const now = decision === null ? approval : `${approval} by ${decision.approver} at ${decision.at}`;
  throw new Conflict('decision_changed', `${ordinal} ${kind} is ${now}; it was ${seen} when you saw it`, {
    hint: 'Read the action again; without seen_approval the decision is changed.',
  });
}

function checkDigest(definition: ActionDefinition, digest: string): void {
  if (definition.digest === digest) return;
  throw new Conflict(
    'digest_mismatch',
    `${definition.ordinal} ${definition.kind}: digest ${digest.slice(0, 12)} is not that of the action (${definition.digest.slice(0, 12)}); look at it again`,
    { errors: [{ pointer: '/digest', detail: `must be ${definition.digest}` }] },
  );
}

export function checkScope(
  by: { readonly name: string; readonly scopes: readonly string[] },
  scope: string,
): void {
  if (by.scopes.includes(scope) || by.scopes.includes('admin')) return;
  throw new Refused(
    'scope_missing',
    `the token '${by.name}' has the scopes ${by.scopes.join(', ') || 'none'}; this needs ${scope}`,
  );
}

/**
 * What asking a run to stop writes. A run at work aborts its model and its sandbox, lets a started effect finish, and ends; one
 * that waits is cancelled at once.
 */
export function cancelRun(
  run: Run,
  { by, reason }: { readonly by: Person; readonly reason: string | null },
): NewEvent[] {
  if (closed.includes(run.status))
    throw new Conflict('run_closed', `run ${run.run_id} is ${run.status}; there is nothing to cancel`);
  if (run.undo?.complete === true)
    throw new Conflict('run_closed', `run ${run.run_id} was undone; there is nothing to cancel`);
  if (run.undo !== null)
    throw new Conflict('run_undone', `the undo of run ${run.run_id} has begun; let it finish`);
  if (run.cancelling) return [];
  const asked: NewEvent = { type: 'cancel_requested', data: { by: by.name, reason } };
  if (isActive(run.status)) return [asked];
  return [asked, { type: 'run_cancelled', data: { message: reason ?? `cancelled by ${by.name}` } }];
}

const closed: readonly string[] = ['completed', 'cancelled', 'undone', 'rejected', 'superseded'];
