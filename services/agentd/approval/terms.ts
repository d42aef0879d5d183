import { minimatch } from 'minimatch';
import type { AppliedRule } from '#kit/contracts/approval.ts';
import type { ActionFacts, ActionKind, FileChange } from '../action.ts';
import { canonicalPath } from '../git/path-spelling.ts';
import type { ApprovalsNow } from './current.ts';
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
  const { forge, owner, repo } = action.target;
  return policy.approval.rules.filter(
    ({ forges, repositories, paths: globs, kinds, gates, risk_at_least = 0 }) =>
      (forges === undefined || forges.includes(forge)) &&
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

/** What a standing approval is judged on: the whole change. */
export interface WholeChange {
  readonly actions: readonly JudgedAction[];
  /** Paths that the patch touches. */
  readonly paths: readonly string[];
}

/**
 * Why a standing approval does not cover an action; null where it does. One action of the plan that is too risky for it, or one file
 * outside its paths, is enough: then it covers none of them. Names count in their case: where in doubt, it does not cover.
 */
export function whyNotCovered(
  standing: StandingApproval,
  { policy, forges }: Pick<ApprovalsNow, 'policy' | 'forges'>,
  action: JudgedAction,
  change: WholeChange,
  now: string,
): string | null {
  const { kinds, gates = ['build'] } = standing;
  const why = whyNotWhole(standing, { policy, forges }, action.target, change, now);
  if (why !== null) return why;
  if (!gates.includes(action.gate)) return `it is not for the gate ${action.gate}`;
  if (kinds !== undefined && !kinds.includes(action.kind)) return `it is not for ${action.kind}`;
  return null;
}

/** Why a standing approval covers no action of a plan; null where it may cover some. */
export function whyNotWhole(
  standing: StandingApproval,
  { policy, forges: known }: Pick<ApprovalsNow, 'policy' | 'forges'>,
  { forge, owner, repo }: Pick<JudgedAction['target'], 'forge' | 'owner' | 'repo'>,
  { actions, paths }: WholeChange,
  now: string,
): string | null {
  const { forges, repositories, paths: globs, risk_at_most, expires_at } = standing;
  if (Date.parse(expires_at) <= Date.parse(now)) return `it expired at ${expires_at}`;
  if (!fits(repositories, `${owner}/${repo}`)) return `it is not for ${owner}/${repo}`;
  if (forges === undefined && known.some((name) => name !== forge))
    return `it does not name its forges, and there are several (${known.join(', ')})`;
  if (forges !== undefined && !forges.includes(forge)) return `it is not for the forge ${forge}`;
  const outside =
    globs === undefined
      ? undefined
      : paths.find((path) => !fits(globs, path) || !fits(globs.map(canonicalPath), canonicalPath(path)));
  if (globs !== undefined && (paths.length === 0 || outside !== undefined))
    return `${outside ?? 'nothing'} is outside its paths`;
  const outsiders = actions.some(({ influences }) => influences.some(({ trusted }) => !trusted));
  if (standing.untrusted_influence !== true && outsiders) return 'text of outsiders led to it';
  const [path] = guarded(policy.risk.critical_paths, paths);
  if (standing.critical_paths !== true && path !== undefined) return `${path} is a critical path`;
  const critical = actions.find(({ risk }) => risk === 'critical');
  if (standing.critical_paths !== true && critical !== undefined)
    return `the risk of ${critical.kind} is critical`;
  const above = actions.find(({ risk_score }) => risk_score > risk_at_most);
  return above === undefined
    ? null
    : `the risk of ${above.kind} is ${above.risk_score}, above ${risk_at_most}`;
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
export function fits(globs: readonly string[], text: string): boolean {
  return globs.some((glob) => minimatch(text, glob, { dot: true, nonegate: true, nocomment: true }));
}
