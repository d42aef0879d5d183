import { type Approval, approverText } from '#kit/contracts/action.ts';
import type { ActionTerms } from '#kit/contracts/approval.ts';
import { CoreError, Unavailable } from '#kit/errors.ts';
import { whose } from '#kit/identity-name.ts';
import { fateOf } from '#kit/tokens/token-history.ts';
import type { Judgement, Problem } from '../action.ts';
import {
  type ApprovalsNow,
  authorOf,
  decisionProblem,
  type ReadApprovals,
  whyTokenMayNot,
} from '../approval/current.ts';
import { personOf } from '../approval/people.ts';
import { asRecorded, type Identify, needsText, progressOf } from '../approval/progress.ts';
import { ruleDigest } from '../approval/rule.ts';
import {
  applied,
  requestersOf,
  rulesFor,
  touchedPaths,
  type WholeChange,
  whyNotCovered,
} from '../approval/terms.ts';
import type { TokenRotated } from '../runs/event.ts';
import type { ActionState, Run } from '../runs/run.ts';

/**
 * Why a recorded approval of an action does not count by the current configuration; null if it counts. Each approver must be the same
 * person and still be allowed to approve. Rules added since must be met, and a standing approval must still exist.
 * @throws Unavailable if the configuration temporarily cannot be read
 */
export function problemNow(run: Run, action: ActionState, now: string, read: ReadApprovals): Problem | null {
  let current: ApprovalsNow;
  try {
    current = read();
  } catch (error) {
    // A configuration that cannot be read says nothing about the approval. The execution ends here and can be resumed.
    if (!(error instanceof CoreError) || error instanceof Unavailable) throw error;
    return { code: error.code, message: error.message };
  }
  const subject = { run_id: run.run_id, action_id: action.definition.action_id };
  const problemOf = (one: Approval) => decisionProblem(subject, one, current, now);
  const decisions = action.decisions.filter((one) => problemOf(one) === null);
  return (
    countProblem(action, decisions, problemOf, now) ??
    peopleProblem(action, decisions, current, now) ??
    ruleProblem(run, action, decisions, current, now) ??
    standingProblem(run, action, current, now)
  );
}

/** Decisions of an action that count now, and how far they meet the rules of the plan. */
export function countedNow(
  run: Run,
  action: ActionState,
  current: ApprovalsNow,
  now: string,
): Pick<Judgement, 'counted' | 'progress'> {
  const { terms, definition, decisions } = action;
  const subject = { run_id: run.run_id, action_id: definition.action_id };
  const counted = decisions.filter(
    (one) => one.decision === 'reject' || decisionProblem(subject, one, current, now) === null,
  );
  const progress =
    terms === null
      ? undefined
      : progressOf({ terms, digest: definition.digest }, counted, now, stillKnown(current));
  return { counted, progress };
}

/** @param counted decisions that count, each judged alone, and all rejections */
function countProblem(
  { terms, definition, decision, decisions }: ActionState,
  counted: readonly Approval[],
  problemOf: (approval: Approval) => Problem | null,
  now: string,
): Problem | null {
  if (terms === null) return decision === null ? null : problemOf(decision);
  const { met, text } = progressOf({ terms, digest: definition.digest }, counted, now);
  if (met) return null;
  const problems = decisions.flatMap((one) => problemOf(one) ?? []);
  const messages = problems.map(({ message }) => message).join('; ');
  return { code: problems[0]?.code ?? 'approval_required', message: `approved by ${text}: ${messages}` };
}

/** Problem if a person or an owner no longer counts as such. */
function peopleProblem(
  { terms, definition }: ActionState,
  decisions: readonly Approval[],
  current: ApprovalsNow,
  now: string,
): Problem | null {
  if (terms === null) return null;
  const still = stillKnown(current);
  const { met, text } = progressOf({ terms, digest: definition.digest }, decisions, now, still);
  if (met) return null;
  const changed = decisions.flatMap((one) => {
    const before = asRecorded(one);
    const after = personOf(current.policy.people, one.approver);
    if (before === null || JSON.stringify(before) === JSON.stringify(after)) return [];
    const words = (somebody: typeof after) =>
      somebody === null ? 'nobody' : [somebody.person, ...somebody.known_as].join(', ');
    return [`${whose(one.approver)} was ${words(before)} at the approval and is ${words(after)} now`];
  });
  return rulesChanged(
    `people of policy.json changed since, and it is approved by ${text}: ${changed.join('; ')}`,
  );
}

/** Recorded person, who is an owner only if still an owner now. */
function stillKnown({ policy }: ApprovalsNow): Identify {
  return (approval) => {
    const before = asRecorded(approval);
    const after = personOf(policy.people, approval.approver);
    if (before === null || after?.person !== before.person) return null;
    return { person: before.person, known_as: before.known_as.filter((key) => after.known_as.includes(key)) };
  };
}

/** Problem with the current rules, which apply in addition to the rules of the plan. */
function ruleProblem(
  run: Run,
  { definition, terms: recorded }: ActionState,
  decisions: readonly Approval[],
  { policy }: ApprovalsNow,
  now: string,
): Problem | null {
  const rules = rulesFor(policy, definition, pathsOf(run)).map(applied);
  if (rules.length === 0) return null;
  const code_owners = run.plan?.approval_terms?.code_owners ?? null;
  const asksOwners = rules.find((rule) => rule.code_owners);
  if (asksOwners !== undefined && code_owners === null) {
    return rulesChanged(
      `the rule '${asksOwners.name}' of policy.json asks for code owners now, and none asked for them when the plan was made; plan the issue again`,
    );
  }
  const terms: ActionTerms = { requesters: requestersOf(policy.people, run.request), code_owners, rules };
  const identify: Identify = (approval) => personOf(policy.people, approval.approver);
  const progress = progressOf({ terms, digest: definition.digest }, decisions, now, identify);
  const unmet = progress.rules.find(({ met }) => !met);
  if (unmet === undefined) return null;
  const before = recorded === null ? 'nobody in particular' : needsText(recorded);
  return rulesChanged(
    `the rules of policy.json changed since the plan was made: '${unmet.name}' asks for ${needsText({ ...terms, rules: rules.filter(({ name }) => name === unmet.name) })} now, the plan asked for ${before}; it is approved by ${unmet.text}`,
  );
}

function rulesChanged(message: string): Problem {
  return { code: 'approval_rules_changed', message };
}

function standingProblem(
  run: Run,
  { definition, decision }: ActionState,
  current: ApprovalsNow,
  now: string,
): Problem | null {
  if (decision?.standing === undefined) return null;
  const { name, digest } = decision.standing;
  const { approver, token, at } = decision;
  const changed = (why: string): Problem => ({
    code: 'standing_changed',
    message: `${approverText(decision)} does not count any more: ${why}; approve it yourself`,
  });
  const standing = current.policy.approval.standing.find((one) => one.name === name);
  if (standing === undefined) return changed('policy.json has none of that name now');
  const digestNow = ruleDigest(standing);
  if (digestNow !== digest) {
    return changed(`it is ${digestNow.slice(0, 12)} in policy.json now, and was ${digest.slice(0, 12)}`);
  }
  const why =
    authorOf(standing, current).why ??
    whyTokenMayNot({ name: approver, token, at }, 'admin', current) ??
    whyNotCovered(standing, current, definition, wholeChange(run), now);
  return why === null ? null : changed(why);
}

/** The rotations by which tokens of these decisions still count and that the record of the run does not have yet, oldest first. */
export function newRotations(run: Run, { decisions }: ActionState, read: ReadApprovals): TokenRotated[] {
  const { tokens } = read();
  const found = decisions.flatMap(({ approver: name, token }) =>
    token === undefined
      ? []
      : (fateOf(tokens, name, token)?.rotations ?? []).map((rotation) => ({ name, ...rotation })),
  );
  const known = new Set(run.rotations.map(({ to }) => to));
  return found.filter(({ to }) => !known.has(to) && known.add(to));
}

function wholeChange(run: Run): WholeChange {
  return { actions: run.actions.map(({ definition }) => definition), paths: pathsOf(run) };
}

/** Paths that the patch of a run touches. */
function pathsOf({ actions }: Pick<Run, 'actions'>): string[] {
  return actions.flatMap(({ definition }) =>
    definition.kind === 'apply_patch' ? touchedPaths(definition.params.files) : [],
  );
}
