import { risks, runStatuses } from '#kit/contracts/vocabulary.ts';
import type { ActionKind, StateOf } from '../action.ts';
import type { ActionDefinition, ActionOf } from '../actions/registry.ts';
import type { DataOf, IssueFacts, PlanFacts, RunRequest, Usage } from './event.ts';

export { runStatuses };
export type RunStatus = (typeof runStatuses)[number];

/** One proposed action as it stands. */
export type ActionState = StateOf<ActionDefinition>;

/** The first action of a kind. */
export function actionOfKind<K extends ActionKind>(
  run: Pick<Run, 'actions'>,
  kind: K,
): StateOf<ActionOf<K>> | undefined {
  return run.actions.find(({ definition }) => definition.kind === kind) as StateOf<ActionOf<K>> | undefined;
}

/** A run folded from its events. Immutable; a newer fold is a new object. */
export interface Run {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly request: RunRequest;
  readonly created_at: string;
  readonly updated_at: string;
  readonly head: { readonly seq: number; readonly hash: string };
  /** Whether its log says that its head is also kept outside its folder. */
  readonly head_kept: boolean;
  /** Each time that the run went on after events of its record were lost. */
  readonly recoveries: readonly (DataOf<'record_recovered'> & { readonly at: string })[];
  readonly source: DataOf<'source_read'> | null;
  readonly issue: IssueFacts | null;
  readonly plan: PlanFacts | null;
  readonly actions: readonly ActionState[];
  /** Secrets that were masked in what the run read, each once for each place. */
  readonly masked: DataOf<'secrets_masked'>['found'];
  /** Artifact of the prompt that the turns answer; null before there is one. */
  readonly prompt: string | null;
  readonly turns: readonly { readonly content: string; readonly tool_calls: readonly string[] }[];
  readonly usage: Usage | null;
  readonly failure: {
    readonly code: string;
    readonly message: string;
    /** Whether the same planning can succeed later; left out where nobody knows. */
    readonly retryable?: boolean | undefined;
  } | null;
  /** The execution that runs or ran last. */
  readonly execution:
    | (DataOf<'execution_started'> & { readonly finished: boolean; readonly message: string | null })
    | null;
  readonly workspace: DataOf<'workspace_opened'> | null;
  readonly undo:
    | (DataOf<'undo_started'> & {
        readonly finished: boolean;
        readonly results: readonly DataOf<'undo_result'>[];
        readonly intents: readonly DataOf<'undo_intent'>[];
      })
    | null;
  /** As the forge was seen to have it last; null before anybody asked. */
  readonly pull_request: (DataOf<'pull_request_seen'> & { readonly at: string }) | null;
  /** Who asked it to stop last, and why; null when nobody did. */
  readonly cancel: DataOf<'cancel_requested'> | null;
  /** The newer run of the issue that took its place; null while none did. */
  readonly superseded_by: string | null;
  /** Files of the change that moved on the base branch since the plan was made, when it was looked at last; null where none had. */
  readonly base_moved: DataOf<'base_seen'> | null;
  /** Asked to stop and not yet stopped. */
  readonly cancelling: boolean;
}

/** What a list shows of a run, without reading its events. */
export interface RunSummary {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  readonly number: number;
  readonly title: string | null;
  readonly role: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly highest_risk: string | null;
  /** Actions that wait for a decision. */
  readonly waiting: number;
  readonly actions: number;
}

export function summaryOf(run: Run): RunSummary {
  const { forge, owner, repo, number, role } = run.request;
  const levels = run.actions.map(({ definition }) => risks.indexOf(definition.risk));
  const closed = ['cancelled', 'undone', 'superseded', 'planning'].includes(run.status);
  return {
    run_id: run.run_id,
    status: run.status,
    forge,
    owner,
    repo,
    number,
    title: run.issue?.title ?? null,
    role,
    created_at: run.created_at,
    updated_at: run.updated_at,
    highest_risk: levels.length === 0 ? null : risks[Math.max(...levels)]!,
    waiting: closed ? 0 : run.actions.filter(({ approval }) => approval === 'required').length,
    actions: run.actions.length,
  };
}
