import type { Account } from '#kit/contracts/account.ts';
import { approverText, type GivenSignature } from '#kit/contracts/action.ts';
import type { AppliedRule } from '#kit/contracts/approval.ts';
import { Conflict, type CoreError, InvalidInput, NotFound, Refused } from '#kit/errors.ts';
import { identityKey, whose } from '#kit/identity-name.ts';
import type { Approval, ApprovalState } from '../action.ts';
import { planOutdated } from '../actions/kind.ts';
import type { ActionDefinition } from '../actions/registry.ts';
import type { DecisionRequest, Person } from '../agent.ts';
import { personOf } from '../approval/people.ts';
import {
  approvalEnd,
  approvalProgress,
  asRecorded,
  deciderOf,
  progressOf,
  whyOfNoUse,
} from '../approval/progress.ts';
import type { People } from '../approval/rule.ts';
import type { NewEvent } from '../runs/event.ts';
import { type ActionState, isActive, nowFor, type Run } from '../runs/run.ts';
import { type ApprovalSignatures, requiredBy } from '../signatures/approval-signatures.ts';

/** Action that a decision is about. */
interface ActionOfRun {
  readonly run_id: string;
  readonly action_id: string;
}

/** Policy that a decision is checked against. */
export interface DecisionPolicy {
  readonly expires_after_days: number;
  readonly people: People;
  /** False for a decision that no longer counts because its token or account was revoked, or its signature does not hold. */
  readonly stands: (subject: ActionOfRun, approval: Approval, now: string) => boolean;
}

/**
 * The events of one decision, or a refusal that changes nothing. Either decision can be changed until the action has
 * started. Of several actions, those that the person has approved already for a rule that asks for more are left out.
 */
export function decideActions(
  run: Run,
  request: DecisionRequest,
  { expires_after_days, people, stands }: DecisionPolicy,
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
  const expires_at = new Date(Date.parse(at) + expires_after_days * 86_400_000).toISOString();
  const approves = request.decision === 'approve';
  const somebody = personOf(people, request.by.name);
  const person = somebody === null ? undefined : { name: somebody.person, known_as: [...somebody.known_as] };
  const already: CoreError[] = [];
  const events = request.actions.flatMap(({ action_id, digest, seen_approval, signature }): NewEvent[] => {
    const action = findAction(run, action_id);
    checkNotStarted(action);
    checkSeen(action, seen_approval);
    checkDigest(action.definition, digest);
    const useless = approves
      ? whyUseless(run, action, {
          approver: request.by.name,
          account: request.by.providerAccount,
          people,
          stands,
          at,
          signed: signature !== undefined,
        })
      : null;
    if (useless?.code === 'approved_already') {
      already.push(useless);
      return [];
    }
    if (useless !== null) throw useless;
    const approval: Approval = {
      decision: request.decision,
      approver: request.by.name,
      token: request.by.token,
      account: request.by.providerAccount,
      person: action.terms === null ? undefined : person,
      standing: undefined,
      claimed_approver: request.claimed_approver,
      reason: request.reason,
      digest,
      at,
      expires_at: approves ? expires_at : null,
      signature: undefined,
    };
    const recorded =
      signature === undefined
        ? unsigned(approval, signatures)
        : signed(run, action, approval, signature, signatures);
    return [
      { type: 'approval_recorded', data: { action_id: action.definition.action_id, approval: recorded } },
    ];
  });
  if (events.length === 0) throw already[0]!;
  return events;
}

interface Approving {
  readonly approver: string;
  readonly account: Account | undefined;
  readonly people: People;
  readonly stands: DecisionPolicy['stands'];
  readonly at: string;
  readonly signed: boolean;
}

/** Why an approval would not bring an action nearer to what its rules ask; null where it would, or where no rule asks. */
function whyUseless(
  { run_id }: Run,
  { definition, terms, decisions: recorded }: ActionState,
  { approver, account, people, stands, at, signed }: Approving,
): CoreError | null {
  if (terms === null) return null;
  // A rejection stays, whatever became of its token.
  const { action_id, ordinal, kind, digest } = definition;
  const decisions = recorded.filter(
    (one) => one.decision === 'reject' || stands({ run_id, action_id }, one, at),
  );
  const somebody = personOf(people, approver);
  const { text, rules } = progressOf({ terms, digest }, decisions, at);
  const name = `${ordinal} ${kind}`;
  const so = `it has ${text}`;
  if (somebody === null) {
    return new Refused(
      'approver_unknown',
      `${name}: a rule counts people, and people of policy.json does not list ${whose(approver)}, so that nobody knows who that is; ${so}`,
      {
        hint:
          account === undefined
            ? `Whoever keeps policy.json adds "${approver}" to people, or to the tokens of the person it is of.`
            : `Whoever keeps policy.json adds ${JSON.stringify(account)} to the accounts of this person in people.`,
      },
    );
  }
  const { person } = somebody;
  const rejection = decisions.find(
    (one) =>
      one.decision === 'reject' &&
      asRecorded(one)?.person !== person &&
      identityKey(one.approver) !== identityKey(approver),
  );
  if (rejection !== undefined) {
    return new Conflict(
      'action_rejected',
      `${name}: ${rejection.approver} rejected it: ${rejection.reason}; where a rule asks people, only who rejected can change that`,
      { hint: `${rejection.approver} approves it after all, or the issue is planned again.` },
    );
  }
  const why = whyOfNoUse({ terms, digest }, decisions, at, { ...somebody, signed });
  const other = `Somebody else approves it with a token of their own: core approve ${run_id}`;
  if (why === 'approved_already')
    return new Conflict('approved_already', `${name}: ${person} has approved it already; ${so}`, {
      hint: other,
    });
  if (why === 'approver_is_requester') {
    return new Refused(
      'approver_is_requester',
      `${name}: ${person} asked for this run, and the rule '${ruleOf(terms.rules, 'not_requester')}' wants somebody else; ${so}`,
      { hint: other },
    );
  }
  if (why === 'signature_required') {
    return new Refused(
      'signature_required',
      `${name}: the rule '${ruleOf(terms.rules, 'require_signature')}' counts signed approvals alone; ${so}`,
      { hint: 'approve --sign signs it with your SSH key.' },
    );
  }
  if (why === null) return null;
  const owners = [...new Set(rules.flatMap(({ missing_owners }) => missing_owners.flat()))];
  const known = somebody.known_as.length === 0 ? 'nobody' : somebody.known_as.join(', ');
  return new Refused(
    'not_code_owner',
    `${name}: only a code owner is missing (${owners.join(', ')}), and ${person} is known as ${known} there; ${so}`,
    { hint: `One of the owners approves it; people of policy.json says who is who in CODEOWNERS.` },
  );
}

function ruleOf(rules: readonly AppliedRule[], asks: 'not_requester' | 'require_signature'): string {
  return rules.find((rule) => rule[asks])?.name ?? '';
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
  { definition: { action_id }, terms, decision: inForce, decisions }: ActionState,
  approval: Approval,
  { value, signed_at, expires_at }: GivenSignature,
  signatures: ApprovalSignatures,
): Approval {
  const { decision, digest, approver, at } = approval;
  const own = decisions.findLast((one) => deciderOf(one) === deciderOf(approval)) ?? null;
  // Where rules count people, nobody's decision takes the place of another's.
  const before = terms === null ? inForce : own;
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
  const { approval, decision, definition, terms } = action;
  if (approval === 'rejected')
    return {
      code: 'action_rejected',
      message: `rejected by ${decision?.approver}: ${decision?.reason ?? 'no reason given'}`,
    };
  if (approval !== 'approved' || decision === null) {
    const progress = approvalProgress(action, now);
    const so = progress === undefined ? `approval is ${approval}` : `approved by ${progress.text}`;
    return { code: 'approval_required', message: `not approved; ${so}` };
  }
  if (decision.digest !== definition.digest) {
    return {
      code: 'digest_mismatch',
      message: `approved was ${decision.digest.slice(0, 12)}, the action is ${definition.digest.slice(0, 12)}`,
    };
  }
  const end = approvalEnd(action);
  if (end !== null && end > now) return null;
  const whose = terms === null ? `the approval by ${approverText(decision)}` : 'an approval that it needs';
  return {
    code: 'approval_expired',
    message: `${whose} expired at ${end} (approval.expires_after_days of config/policy.json); approve it again`,
  };
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
