import { isDeepStrictEqual } from 'node:util';
import * as t from 'io-ts';
import { digestOf } from '#kit/digest.ts';
import { ActionFacts, type ActionKind, actionKinds, type Target } from '../action.ts';
import { applyPatch } from './apply-patch.ts';
import { commentIssue } from './comment-issue.ts';
import { commit } from './commit.ts';
import { createBranch } from './create-branch.ts';
import type { ActionExecutor, ExecutionPorts } from './executor.ts';
import type { ActionType, Definition, Duplicate, SealedPlan } from './kind.ts';
import { openPullRequest } from './open-pull-request.ts';
import { pushBranch } from './push-branch.ts';
import { runValidation } from './run-validation.ts';

/** Every kind of action. A plan's actions come in the order of `actionKinds`. */
export const actions = {
  create_branch: createBranch,
  apply_patch: applyPatch,
  run_validation: runValidation,
  commit,
  push_branch: pushBranch,
  open_pull_request: openPullRequest,
  comment_issue: commentIssue,
} satisfies { readonly [K in ActionKind]: { readonly kind: K } };

export type ParamsOf<K extends ActionKind> = t.TypeOf<(typeof actions)[K]['params']>;
type Definitions = { readonly [K in ActionKind]: Definition<K, ParamsOf<K>> };
export type ActionOf<K extends ActionKind> = Definitions[K];
export type ActionDefinition = Definitions[ActionKind];

const definitions = actionKinds.map((kind) =>
  t.intersection([ActionFacts, t.strict({ kind: t.literal(kind), params: actions[kind].params as t.Mixed })]),
);
export const ActionDefinition = t.union(definitions as unknown as [t.Mixed, t.Mixed]) as unknown as t.Type<
  ActionDefinition,
  unknown
>;

/** What Core knows of one kind, as a function of any definition of it. */
export function actionType(kind: ActionKind): ActionType<ActionKind, unknown> {
  return actions[kind] as unknown as ActionType<ActionKind, unknown>;
}

export type Executors = Readonly<Record<ActionKind, ActionExecutor<ActionDefinition>>>;

export function executorsFor(ports: ExecutionPorts): Executors {
  const executors = actionKinds.map((kind) => [kind, actionType(kind).executor(ports)]);
  return Object.fromEntries(executors) as Executors;
}

/**
 * Where a definition says one thing twice, both must be the same: each executor may then read either.
 * @returns the first that differs, with both values; null where none does
 */
export function contradiction(
  action: ActionDefinition,
  plan: SealedPlan & { readonly target: Target },
): string | null {
  const { kind, target, artifacts } = action;
  if (!isDeepStrictEqual(target, plan.target)) return 'its target is not that of the plan';
  const type = actionType(kind);
  const duplicates: readonly Duplicate[] = type.duplicates(action, plan);
  for (const [name, value, other, expected] of duplicates) {
    if (value !== expected) return `params.${name} is '${value}', and ${other} '${expected}'`;
  }
  const unused = Object.keys(artifacts).find((name) => !type.artifacts.includes(name));
  return unused === undefined ? null : `artifact '${unused}' is none that ${kind} uses`;
}

/**
 * What an approval names: sha256 over the canonical JSON (RFC 8785) of everything that decides what the action does and where.
 * Title, rationale and risk are left out: they explain the payload and are not part of it.
 */
export function actionDigest(action: Omit<ActionDefinition, 'digest'>): string {
  const { run_id, action_id, ordinal, kind, params, dry_run, depends_on, artifacts, target } = action;
  const { forge, owner, repo, repository_id, push_url, branch, base_commit, tree } = target;
  const { forge_url, account, base_branch, vcs } = target;
  return digestOf({
    run_id,
    action_id,
    ordinal,
    kind,
    params,
    dry_run,
    depends_on,
    artifacts,
    forge,
    owner,
    repo,
    repository_id,
    push_url,
    branch,
    base_commit,
    tree,
    // Older versions sealed their plans without these; their digests stay what they were.
    ...(forge_url === undefined ? {} : { forge_url, account, base_branch, vcs }),
  });
}
