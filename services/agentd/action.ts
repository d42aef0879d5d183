import * as t from 'io-ts';
import { Approval } from '#kit/contracts/action.ts';
import {
  actionKinds,
  actionStates,
  approvals,
  caseOutcomes,
  gates,
  risks,
} from '#kit/contracts/vocabulary.ts';
import { nullable, oneOf, optional, Sha256 } from '#kit/decode.ts';

/** What a proposed action is: the vocabulary that planning, approval and execution share. */

export { Approval, actionKinds, actionStates, approvals, gates, risks };

export const ActionKind = oneOf(actionKinds);
export type ActionKind = t.TypeOf<typeof ActionKind>;

export const Gate = oneOf(gates);
export type Gate = t.TypeOf<typeof Gate>;

/** build: local and harmless. publish: seen by others. */
export function gateOf(kind: ActionKind): Gate {
  return kind === 'push_branch' || kind === 'open_pull_request' || kind === 'comment_issue'
    ? 'publish'
    : 'build';
}

export const Risk = oneOf(risks);
export type Risk = t.TypeOf<typeof Risk>;

export const ApprovalState = oneOf(approvals);
export type ApprovalState = t.TypeOf<typeof ApprovalState>;

export const ActionStateName = oneOf(actionStates);
export type ActionStateName = t.TypeOf<typeof ActionStateName>;

export const FileChange = t.strict({
  path: t.string,
  /** Where a renamed or copied file came from. */
  old_path: nullable(t.string),
  status: oneOf(['added', 'modified', 'deleted', 'renamed', 'copied', 'type_changed']),
  /** Lines; null for binary files. */
  added: nullable(t.number),
  removed: nullable(t.number),
  /** Git file modes, for example `100644`; null where the side does not exist. */
  old_mode: nullable(t.string),
  new_mode: nullable(t.string),
});
export type FileChange = t.TypeOf<typeof FileChange>;

export const ValidationCommand = t.strict({
  /** Short name for people, for example `test`. */
  name: t.string,
  /** A line for `sh -c`. */
  run: t.string,
});
export type ValidationCommand = t.TypeOf<typeof ValidationCommand>;

export const ValidationPlan = t.strict({
  /** Where the commands come from. */
  source: oneOf(['configuration', 'repository', 'detected']),
  /** What was found, for example `package.json` or `.core.json`. */
  found: t.string,
  /** Run at the base commit, before the patch, with `prepare_network`. */
  prepare: t.array(ValidationCommand),
  prepare_network: t.boolean,
  /** Folders, relative to the workspace, that preparing makes and the run sees read-only. */
  prepared_paths: t.array(t.string),
  /** Files, relative, whose content decides whether prepared results can be used again (lockfiles). */
  lockfiles: t.array(t.string),
  commands: t.array(ValidationCommand),
  limits: t.strict({
    seconds: t.number,
    memory_mib: t.number,
    processes: t.number,
    /** Missing in plans of older versions. */
    disk_mib: optional(t.number),
    output_bytes: t.number,
  }),
});
export type ValidationPlan = t.TypeOf<typeof ValidationPlan>;

/** In what a validation runs, and what of the machine it sees. */
export interface SandboxTerms {
  readonly kind: string;
  readonly tool_paths: readonly string[];
  /** sha256 of each value by the variable's name. */
  readonly prepare_environment: Readonly<Record<string, string>>;
}

export const Author = t.strict({ name: t.string, email: t.string });
export type Author = t.TypeOf<typeof Author>;

/** Members that older versions of Core did not seal are optional: such a plan can be read and undone, and never runs. */
export const CreateBranchParams = t.strict({
  branch: t.string,
  base_branch: t.string,
  base_commit: t.string,
  author: optional(Author),
});
export const ApplyPatchParams = t.strict({
  patch: Sha256,
  tree: t.string,
  files: t.array(FileChange),
  author: optional(Author),
});
export const RunValidationParams = t.strict({
  tree: t.string,
  sandbox: t.string,
  plan: ValidationPlan,
  /** Folders outside the system that the commands see read-only and find programs in, in the order of their PATH. */
  tool_paths: optional(t.array(t.string)),
  /** Variables that preparing with network sees in addition, by name: the sha256 of each value, which may be a secret. */
  prepare_environment: optional(t.record(t.string, Sha256)),
});
export const CommitParams = t.strict({
  tree: t.string,
  /** Template; see `slots`. */
  message: t.string,
  author: Author,
  /** The ref that appears in the person's checkout, for example `refs/heads/core/1-…`. */
  deliver_ref: t.string,
});
export const PushBranchParams = t.strict({
  branch: t.string,
  push_url: t.string,
  /** Continuous-integration workflow files that the push would start. */
  workflows: t.array(t.string),
});
export const OpenPullRequestParams = t.strict({
  title: t.string,
  body: t.string,
  head: t.string,
  base: t.string,
});
export const CommentIssueParams = t.strict({ number: t.number, body: t.string });

/** Slots of a template: `{{name}}`, filled at execution; each has one meaning and one form. */
export const slots = {
  run_id: 'identifier of the run',
  approved_by: 'who approved the actions, by action',
  validation: 'result of the validation',
  audit_head: 'head of the run record when the text was written',
  pull_request: 'address of the pull request',
  changed_since: 'files of the patch that changed on the base branch since',
} as const;
export type Slot = keyof typeof slots;

/** Where the run works; part of every digest. */
export const Target = t.strict({
  forge: t.string,
  /** Where that forge is: its `base_url`, or the folder of a local one. Missing in plans of older versions. */
  forge_url: optional(t.string),
  /** Who acts there; null where planning had no token to ask by. Missing in plans of older versions. */
  account: optional(nullable(t.strict({ login: t.string, id: t.string }))),
  owner: t.string,
  repo: t.string,
  push_url: t.string,
  /** null when nothing but a comment is proposed. */
  branch: nullable(t.string),
  base_branch: t.string,
  base_commit: t.string,
  /** Tree that the patch makes of the base; null when no change is proposed. */
  tree: nullable(t.string),
  /** The tool that builds the commit; null when no change is proposed. Missing in plans of older versions. */
  vcs: optional(nullable(oneOf(['jj', 'git']))),
});
export type Target = t.TypeOf<typeof Target>;

export const Influence = t.strict({
  kind: oneOf(['issue', 'comment', 'file', 'memory', 'rejection', 'configuration']),
  /** For example `demo/hello#1`, `comment 12 by mira` or a path. */
  source: t.string,
  author: nullable(t.string),
  trusted: t.boolean,
});
export type Influence = t.TypeOf<typeof Influence>;

/** How actions like this one went before, as the context service remembered when the plan was made. */
export const ActionHistory = t.strict({
  /** 0 to 1: the share that went well, moved towards `expected` while there are few. */
  score: t.number,
  /** What the score is without any like action. */
  expected: t.number,
  counts: t.record(t.string, t.number),
  /** Those that weigh most, newest first. */
  cases: t.array(
    t.strict({
      run_id: t.string,
      action_id: t.string,
      repository: t.string,
      outcome: oneOf(caseOutcomes),
      at: t.string,
      reason: nullable(t.string),
    }),
  ),
});
export type ActionHistory = t.TypeOf<typeof ActionHistory>;

const common = t.strict({
  run_id: t.string,
  action_id: t.string,
  /** Position in the execution path, from 1. */
  ordinal: t.number,
  gate: Gate,
  title: t.string,
  rationale: t.string,
  risk: Risk,
  /** 0 to 100. */
  risk_score: t.number,
  risk_reasons: t.array(t.string),
  dry_run: t.boolean,
  /** action_ids that must have succeeded before. */
  depends_on: t.array(t.string),
  /** Name to sha256 of the artifacts that the action uses. */
  artifacts: t.record(t.string, Sha256),
  influences: t.array(Influence),
  /** Explains the risk; no part of what is approved. null: the context service was not asked or knows none. */
  history: optional(nullable(ActionHistory)),
  target: Target,
  /** sha256 over what is approved; see `actionDigest`. */
  digest: Sha256,
});

function definition<K extends ActionKind, P extends t.Mixed>(kind: K, params: P) {
  return t.intersection([common, t.strict({ kind: t.literal(kind), params })]);
}

export const ActionDefinition = t.union([
  definition('create_branch', CreateBranchParams),
  definition('apply_patch', ApplyPatchParams),
  definition('run_validation', RunValidationParams),
  definition('commit', CommitParams),
  definition('push_branch', PushBranchParams),
  definition('open_pull_request', OpenPullRequestParams),
  definition('comment_issue', CommentIssueParams),
]);
export type ActionDefinition = t.TypeOf<typeof ActionDefinition>;
export type ActionOf<K extends ActionKind> = Extract<ActionDefinition, { kind: K }>;
export type ParamsOf<K extends ActionKind> = ActionOf<K>['params'];

export const ActionOutcome = t.strict({
  /** Stable code when it did not succeed. */
  code: optional(t.string),
  message: t.string,
  /** Facts of the result: commit, url, exit status. */
  facts: t.UnknownRecord,
});
export type ActionOutcome = t.TypeOf<typeof ActionOutcome>;
