import * as t from 'io-ts';
import { Approval, ProposedAction } from '#kit/contracts/action.ts';
import type { ActionTerms, ApprovalProgress } from '#kit/contracts/approval.ts';
import { ActionCase } from '#kit/contracts/context/execution.ts';
import { actionKinds, actionStates, approvals, gates, risks } from '#kit/contracts/vocabulary.ts';
import { nullable, oneOf, optional, Sha256, Timestamp } from '#kit/decode.ts';

/** The words that planning, approval and execution share; what belongs to one kind of action is in `actions/`. */

export { Approval, actionKinds, actionStates, approvals, gates, risks };

export const ActionKind = oneOf(actionKinds);
export type ActionKind = t.TypeOf<typeof ActionKind>;

export const Gate = oneOf(gates);
export type Gate = t.TypeOf<typeof Gate>;

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
  /** Which files each command is about. Missing in plans of older versions; a command without an entry does not say. */
  covers: optional(
    t.array(
      t.strict({
        /** Its name. */
        command: t.string,
        /** Repository path; `''` is the root. */
        folder: t.string,
        /** Folders below it that belong to others. */
        except: t.array(t.string),
        /** Kinds of files, as in `validation/file-kinds.ts`. */
        files: t.array(t.string),
        /** Paths that its tests are taken from. Missing where they may be anywhere. */
        test_paths: optional(t.array(t.string)),
      }),
    ),
  ),
  /** Files that no command is about, with the reason. */
  without_tests: optional(
    t.array(
      t.strict({
        folder: t.string,
        files: t.array(t.string),
        why: t.string,
        /** Which of them a command may test: all, or code and no test files. Missing if none. */
        may_test: optional(oneOf(['all', 'code'])),
      }),
    ),
  ),
  /** What the repository asks for, and what the sandbox has. Missing in plans of older versions, and where it asks for nothing. */
  programs: optional(
    t.array(
      t.strict({
        name: t.string,
        /** null where the sandbox has none. */
        path: nullable(t.string),
        /** What it says about its version. */
        version: nullable(t.string),
        /** As the file says it. */
        wanted: t.string,
        from: t.string,
        /** null if it cannot be told. */
        fits: nullable(t.boolean),
      }),
    ),
  ),
  /** Commits that stand in the place of submodules. Missing in plans of older versions, and where none are provided. */
  submodules: optional(
    t.strict({
      forge: t.string,
      provided: t.array(
        t.strict({
          path: t.string,
          /** For another host: its name, and the name at the end of the URL. */
          owner: t.string,
          repo: t.string,
          commit: t.string,
          /** Where it is from if that is another host than the forge's. */
          url: optional(t.string),
        }),
      ),
      missing: t.array(t.strict({ path: t.string, why: t.string })),
    }),
  ),
  /** Objects of Git LFS that stand in the place of their pointers. Missing in plans of older versions, and where there are none. */
  lfs: optional(
    t.strict({
      /** One path of each object; `oid` is its sha256. */
      provided: t.array(t.strict({ path: t.string, oid: Sha256, size: t.number })),
      missing: t.array(t.strict({ path: t.string, why: t.string })),
    }),
  ),
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

/** Where the run works; part of every digest. */
export const Target = t.strict({
  forge: t.string,
  /** Where that forge is: its `base_url`, or the folder of a local one. Missing in plans of older versions. */
  forge_url: optional(t.string),
  /** Who acts there; null where planning had no token to ask by. Missing in plans of older versions. */
  account: optional(nullable(t.strict({ login: t.string, id: t.string }))),
  owner: t.string,
  repo: t.string,
  /** Of the forge: the repository that was approved keeps it under any name. */
  repository_id: t.string,
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
  kind: oneOf(['issue', 'comment', 'file', 'memory', 'rejection', 'note', 'configuration']),
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
  cases: t.array(ActionCase),
});
export type ActionHistory = t.TypeOf<typeof ActionHistory>;

const {
  kind,
  params,
  approval,
  decision,
  decisions,
  approval_progress,
  approval_lapsed,
  approval_problem,
  state,
  outcome,
  started_at,
  finished_at,
  ...shown
} = ProposedAction.type.props;

/** What every action says, whatever its kind, with the members of `ProposedAction`; `params` come on top. */
export const ActionFacts = t.strict({
  ...shown,
  influences: t.array(Influence),
  /** Explains the risk; no part of what is approved. null: the context service was not asked or knows none. */
  history: optional(nullable(ActionHistory)),
  target: Target,
});
export type ActionFacts = t.TypeOf<typeof ActionFacts>;

export const ActionOutcome = t.strict({
  /** Stable code when it did not succeed. */
  code: optional(t.string),
  message: t.string,
  /** Facts of the result: commit, url, exit status. */
  facts: t.UnknownRecord,
});
export type ActionOutcome = t.TypeOf<typeof ActionOutcome>;

/** A checkout, so that a later look knows whether it is the same one. */
export const CheckoutPlace = t.strict({
  /** null in records of older versions, as `repository`. */
  host: nullable(t.string),
  /** Its real path there. */
  dir: t.string,
  /** Inode and birth of its git folder, which another clone at the same path does not have. */
  repository: nullable(t.string),
});
export type CheckoutPlace = t.TypeOf<typeof CheckoutPlace>;

/** Written before the effect. `rendered` holds the bytes with filled slots, as they will be sent. */
export const ActionIntent = t.strict({
  action_id: t.string,
  attempt: t.number,
  /** Time used inside the effect, so that doing it again makes the same commit. */
  effect_at: Timestamp,
  /** The forge's clock, for effects on a forge. */
  forge_time: nullable(Timestamp),
  /** Who acts on the forge; left out where nobody does. */
  account: optional(t.strict({ login: t.string, id: t.string })),
  operation_before: nullable(t.string),
  /** The checkout that the effect may reach; left out where it reaches none. */
  deliver_to: optional(CheckoutPlace),
  rendered: t.UnknownRecord,
});
export type ActionIntent = t.TypeOf<typeof ActionIntent>;

/** An intent that may have reached a checkout. */
export interface Delivery extends ActionIntent {
  readonly deliver_to: CheckoutPlace;
}

/** Where the clone of a run stands, in the ids of the tool that works on it. */
export const VcsFacts = t.strict({
  kind: oneOf(['jj', 'git']),
  version: t.string,
  operation_id: t.string,
  change_id: nullable(t.string),
  commit: nullable(t.string),
  tree: nullable(t.string),
});
export type VcsFacts = t.TypeOf<typeof VcsFacts>;

/** Reason for a refusal, with a stable code. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

/** Judgement of an action's approval by the current configuration. */
export interface Judgement {
  /** Why the approval does not count, or why that is unknown; null if it counts or does not exist. */
  readonly approval_problem: Problem | null;
  /** How far the decisions that count now meet the rules; undefined if no rule applies. */
  readonly progress: ApprovalProgress | undefined;
  /** Decisions that count now, each judged alone. Rejections always count. */
  readonly counted: readonly Approval[];
}

/** One proposed action as it stands: the sealed definition and what happened to it. */
export interface StateOf<Definition> {
  readonly definition: Definition;
  readonly approval: ApprovalState;
  /**
   * The decision in force: the last one, and where rules ask, the one that met them or rejected it; null while there is none. Expiry
   * is judged when it is used.
   */
  readonly decision: Approval | null;
  /** The latest decision of each person, oldest first. */
  readonly decisions: readonly Approval[];
  /** What rules ask of its approval; null where none does, so that one approval is enough. */
  readonly terms: ActionTerms | null;
  readonly state: ActionStateName;
  readonly outcome: ActionOutcome | null;
  /** The last intent; with no result after it the outcome is unknown. */
  readonly intent: ActionIntent | null;
  /** Every intent that may have reached a checkout, whatever came after it, the first first. */
  readonly deliveries: readonly Delivery[];
  readonly vcs: VcsFacts | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}
