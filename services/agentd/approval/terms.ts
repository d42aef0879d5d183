import { minimatch } from 'minimatch';
import type { AppliedRule } from '#kit/contracts/approval.ts';
import type { ActionFacts, ActionKind, FileChange } from '../action.ts';
import { guarded, guards } from './guarding-globs.ts';
import { personNamed, personOf } from './people.ts';
import {
  type ApprovalPolicy,
  type ApprovalRule,
  type People,
  ruleDigest,
  type StandingApproval,
} from './rule.ts';

/** What rules look at. */
export type JudgedAction = Pick<ActionFacts, 'gate' | 'risk' | 'risk_score' | 'target' | 'influences'> & {
  readonly kind: ActionKind;
};

/** Both names of a renamed file. */
export function touchedPaths(files: readonly Pick<FileChange, 'path' | 'old_path'>[]): string[] {
  return [...new Set(files.flatMap(({ path, old_path }) => (old_path === null ? [path] : [path, old_path])))];
}

/** The rules that fit an action. Names of repositories and paths count in any case: where in doubt, a rule fits. */
export function rulesFor(
  policy: Pick<ApprovalPolicy, 'approval'>,
  action: JudgedAction,
  paths: readonly string[],
): ApprovalRule[] {
  const { owner, repo } = action.target;
  return policy.approval.rules.filter(
    ({ repositories, paths: globs, kinds, gates, risk_at_least = 0 }) =>
      (repositories === undefined || guards(repositories, `${owner}/${repo}`)) &&
      (globs === undefined || guarded(globs, paths).length > 0) &&
      (kinds === undefined || kinds.includes(action.kind)) &&
      (gates === undefined || gates.includes(action.gate)) &&
      action.risk_score >= risk_at_least,
  );
}

export function applied(rule: ApprovalRule): AppliedRule {
  const { name, approvers = 1, not_requester, code_owners, require_signature } = rule;
  return {
    name,
    digest: ruleDigest(rule),
    approvers,
    not_requester: not_requester === true,
    code_owners: code_owners === true,
    require_signature: require_signature === true,
  };
}

/**
 * Why a standing approval does not cover an action; null where it does. Every file of the patch must fit its paths, and names
 * count in their case: where in doubt, it does not cover.
 */
export function whyNotCovered(
  standing: StandingApproval,
  { risk: { critical_paths } }: Pick<ApprovalPolicy, 'risk'>,
  action: JudgedAction,
  paths: readonly string[],
  now: string,
): string | null {
  const { repositories, paths: globs, kinds, gates = ['build'], risk_at_most, expires_at } = standing;
  const { owner, repo } = action.target;
  if (Date.parse(expires_at) <= Date.parse(now)) return `it expired at ${expires_at}`;
  if (!fits(repositories, `${owner}/${repo}`)) return `it is not for ${owner}/${repo}`;
  if (!gates.includes(action.gate)) return `it is not for the gate ${action.gate}`;
  if (kinds !== undefined && !kinds.includes(action.kind)) return `it is not for ${action.kind}`;
  if (action.risk_score > risk_at_most) return `the risk is ${action.risk_score}, above ${risk_at_most}`;
  const outside = globs === undefined ? undefined : paths.find((path) => !fits(globs, path));
  if (globs !== undefined && (paths.length === 0 || outside !== undefined))
    return `${outside ?? 'nothing'} is outside its paths`;
  if (standing.untrusted_influence !== true && action.influences.some(({ trusted }) => !trusted))
    return 'text of outsiders led to it';
  const [critical] = guarded(critical_paths, paths);
  if (standing.critical_paths !== true && critical !== undefined) return `${critical} is a critical path`;
  if (standing.critical_paths !== true && action.risk === 'critical') return 'its risk is critical';
  return null;
}

/** Who asked for a run: whose token it was, and whom the request names as having caused it. */
export function requestersOf(
  people: People,
  {
    requested_by,
    trigger,
  }: {
    readonly requested_by: string;
    readonly trigger?: { readonly actor?: string | null | undefined } | undefined;
  },
): string[] {
  const actor = trigger?.actor == null ? null : personNamed(people, trigger.actor);
  return [
    ...new Set([
      personOf(people, requested_by)?.person ?? requested_by,
      ...(actor === null ? [] : [actor.person]),
    ]),
  ];
}

/** Name by name as it is written. */
function fits(globs: readonly string[], text: string): boolean {
  return globs.some((glob) => minimatch(text, glob, { dot: true, nonegate: true, nocomment: true }));
}
