import type * as t from 'io-ts';
import type { PatchAuthor } from '#kit/contracts/patch-author.ts';
import { Refused } from '#kit/errors.ts';
import type {
  ActionFacts,
  ActionHistory,
  ActionIntent,
  ActionKind,
  Author,
  FileChange,
  Gate,
  Influence,
  SandboxTerms,
  Target,
  ValidationPlan,
} from '../action.ts';
import type { Policy } from '../policy.ts';
import type { BuildStep } from '../ports/vcs.ts';
import type { UntestedFile } from '../validation/coverage.ts';
import type { ActionExecutor, ExecutionPorts } from './executor.ts';
import type { RiskAssessment } from './risk.ts';

/** A sealed action of one kind, as it is approved and executed. */
export type Definition<K extends ActionKind, Params> = ActionFacts & {
  readonly kind: K;
  readonly params: Params;
};

/** Everything that Core knows of one kind of action. */
export interface ActionType<K extends ActionKind, Params> {
  readonly kind: K;
  /** build: changes only this machine. publish: visible to others. */
  readonly gate: Gate;
  readonly params: t.Type<Params, unknown>;
  /** Artifacts that an action of this kind uses, by name. */
  readonly artifacts: readonly string[];
  /** Pure: the same plan gives the same bytes. null where the plan holds nothing for this kind. */
  propose(plan: Plan): ProposedAction<Params> | null;
  /** What the definition says twice; the two values must be equal, so that an executor may read either. */
  duplicates(action: Definition<K, Params>, plan: SealedPlan): readonly Duplicate[];
  /** For lists: the thing itself, and what to know about it. Not sanitised. */
  describe(
    { params, target }: Pick<Definition<K, Params>, 'params' | 'target'>,
    minus: string,
  ): { readonly main: string; readonly note: string };
  /** For people, what a succeeded action left behind, with a label each. Not sanitised. */
  results(action: Definition<K, Params>, facts: Facts): readonly (readonly [label: string, text: string])[];
  /** The step in our own clone; null for kinds that build nothing there. */
  readonly buildStep: ((action: Definition<K, Params>, intent: ActionIntent) => BuildStep) | null;
  executor(ports: ExecutionPorts): ActionExecutor<Definition<K, Params>>;
}

export type Facts = Readonly<Record<string, unknown>>;

export type Duplicate = readonly [name: string, value: unknown, other: string, expected: unknown];

/** What a definition is compared with, beside itself. */
export interface SealedPlan {
  /** sha256 of the plan's patch. */
  readonly patch: string | null;
  /** Of the issue; null for a task. */
  readonly number: number | null;
}

export interface ProposedAction<Params> {
  readonly title: string;
  readonly rationale: string;
  readonly params: Params | ((known: KnownActions) => Params);
  /** Kinds that must have succeeded before. Without the first this action makes no sense; the others may be missing. */
  readonly needs: readonly ActionKind[];
  readonly risk: RiskAssessment;
  readonly artifacts?: Readonly<Record<string, string>>;
}

export interface KnownActions {
  readonly action_id: string;
  /** Those proposed before this one. */
  readonly earlier: readonly { readonly ordinal: number; readonly kind: string; readonly title: string }[];
}

/** What every planned action shares. */
export interface CommonPlan {
  readonly run_id: string;
  /** Of the issue; null for a task. */
  readonly number: number | null;
  readonly target: Target;
  readonly influences: readonly Influence[];
  readonly dry_run: boolean;
  readonly policy: Policy;
  /** Kinds that the role may propose. */
  readonly may_propose: readonly string[];
  /** How similar actions went before, by kind. */
  readonly history: ReadonlyMap<string, ActionHistory>;
  /** Of actions of earlier runs of the issue, newest run first. */
  readonly rejections: readonly (RejectedAs & { readonly run_id: string; readonly action: string })[];
  /** The newest of them that rejected these very bytes; null where none did. */
  readonly same_rejected: RejectedAs | null;
}

interface RejectedAs {
  readonly by: string;
  readonly at: string;
  readonly reason: string;
}

/** A change of the repository. */
export interface ChangePlan extends CommonPlan {
  readonly proposes: 'change';
  readonly title: string;
  readonly explanation: string;
  /** sha256 of the patch artifact. */
  readonly patch: string;
  readonly change: ChangeFacts;
  /** null where nothing was found to validate with, or nothing to validate in. */
  readonly validation: ValidationPlan | null;
  readonly sandbox: SandboxTerms | null;
  /** Why a push of the branch would be refused; null where it would not. */
  readonly push_refused: string | null;
  /** Workflow files that a push of this tree starts. */
  readonly workflows: readonly string[];
}

/** A plan that only says something. */
export interface CommentPlan extends CommonPlan {
  readonly proposes: 'comment';
  readonly body: string;
}

export type Plan = ChangePlan | CommentPlan;

/** What a change touches beyond its lines. */
export interface ChangeFacts {
  readonly files: readonly FileChange[];
  /** Hosts that the agent which made it could reach, and credentials that it was given. */
  readonly reaches_out: readonly string[];
  /** Texts of outsiders that led to it. */
  readonly untrusted: readonly string[];
  /** Paths that match `sensitive_paths` and `critical_paths` of the policy. */
  readonly sensitive: readonly string[];
  readonly critical: readonly string[];
  /** Files of the change that decide what the validation does, for example a Makefile. */
  readonly validation_files: readonly string[];
  /** Files whose install scripts the change touches. */
  readonly install_scripts: readonly string[];
  /** How many earlier proposals for the issue were rejected. */
  readonly rejected_before: number;
  /** Changed files that no command of the validation is about, and those that take tests away. */
  readonly untested: readonly UntestedFile[];
  /** How its patch was repaired to fit, for example `HTML entities`; null if it was used as written. */
  readonly repair: string | null;
  /** Whose patch this patch of an outsider takes the place of, and why; null if it does not. */
  readonly displaces: string | null;
  readonly patch_by: PatchAuthor;
}

/** A fact as text; empty where there is none. */
export function factText(facts: Facts, name: string): string {
  const value = facts[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** @throws Refused (`plan_outdated`) where an older version of Core sealed none */
export function authorOf({
  run_id,
  params,
}: ActionFacts & { readonly params: { author?: Author | undefined } }): Author {
  if (params.author !== undefined) return params.author;
  throw planOutdated(run_id);
}

export function planOutdated(runId: string): Refused {
  return new Refused(
    'plan_outdated',
    `run ${runId} was planned by an older version of Core, whose plans do not say where the forge is, which VCS builds the commit and what the sandbox sees; plan the issue again`,
  );
}
