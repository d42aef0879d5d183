import * as t from 'io-ts';
import { PlanTerms } from '#kit/contracts/approval.ts';
import { PatchAuthor } from '#kit/contracts/patch-author.ts';
import { RunTrigger } from '#kit/contracts/plan.ts';
import { checkStates, pullRequestStates } from '#kit/contracts/vocabulary.ts';
import { integerBetween, NonEmptyString, nullable, oneOf, optional, Sha256, Timestamp } from '#kit/decode.ts';
import {
  ActionIntent,
  ActionOutcome,
  Approval,
  CheckoutPlace,
  Influence,
  Target,
  ValidationPlan,
  VcsFacts,
} from '../action.ts';
import { ActionDefinition } from '../actions/registry.ts';

/**
 * Everything that can happen to a run, one discriminated union. `events.jsonl` holds these lines and is the only
 * authority; everything else is folded from them. Events carry digests and small facts. Artifacts hold the content.
 */

export const RunRequest = t.strict({
  forge: NonEmptyString,
  owner: NonEmptyString,
  repo: NonEmptyString,
  /** Number of the issue; null for a task. */
  number: nullable(integerBetween(1, 2_147_483_647)),
  /** Task instead of an issue: an artifact with its text. `trusted`: its author may also approve. Left out for an issue. */
  task: optional(t.strict({ content: Sha256, trusted: t.boolean })),
  /** Additional note for the planner. `trusted`: its author may also approve. Left out if there is none. */
  note: optional(t.strict({ text: NonEmptyString, trusted: t.boolean })),
  role: NonEmptyString,
  planner: NonEmptyString,
  /** Name of the agent that plans; left out if no agent does. */
  agent: optional(NonEmptyString),
  /** Every check runs, no effect happens. */
  dry_run: t.boolean,
  /** Keeps earlier runs of the issue that wait for a decision. Left out if not requested. */
  keep: optional(t.boolean),
  /** Plans although the issue is closed, or fixed by a merged pull request of Core. Left out if not requested. */
  anyway: optional(t.boolean),
  /** Name of the token that asked. */
  requested_by: t.string,
  idempotency_key: nullable(t.string),
  /** Cause of the request, according to the caller. Core does not act on it. */
  trigger: optional(RunTrigger),
});
export type RunRequest = t.TypeOf<typeof RunRequest>;

export const IssueFacts = t.strict({
  title: t.string,
  author: t.string,
  association: t.string,
  state: t.string,
  html_url: nullable(t.string),
  comments: t.number,
  /** Issue and comments as read, secrets masked. */
  content: Sha256,
});
export type IssueFacts = t.TypeOf<typeof IssueFacts>;

/** One passage of context that the planner was given, without its text. */
export const ContextUse = t.strict({
  layer: oneOf(['graph', 'semantic', 'episodic', 'procedural']),
  /** Path, with lines if there are any, or an id of the context service. */
  source: t.string,
  title: t.string,
  /** Reason why the passage was found. */
  why: t.string,
  /** 0 to 1; comparable only within a layer. */
  score: t.number,
});
export type ContextUse = t.TypeOf<typeof ContextUse>;

export const PlanFacts = t.strict({
  target: Target,
  planner: t.string,
  stop_reason: t.string,
  title: t.string,
  /** Markdown, an artifact. */
  explanation: Sha256,
  influences: t.array(Influence),
  /** Patch artifact; null when only a comment is proposed. */
  patch: nullable(Sha256),
  /** Author of the patch; null when only a comment is proposed. Missing in plans of older versions. */
  patch_by: optional(nullable(PatchAuthor)),
  files_of_context: t.number,
  memories: t.number,
  /** Empty if the context service found nothing; left out if it did not answer. */
  context: optional(t.array(ContextUse)),
  /** Things to know before approving: no validation found, context absent, … */
  notices: t.array(t.string),
  validation: nullable(ValidationPlan),
  checks: t.array(t.strict({ name: t.string, passed: t.boolean, detail: t.string })),
  sealed: t.array(t.strict({ action_id: t.string, digest: Sha256 })),
  /** Earlier runs of the issue that this run supersedes; left out if there are none. */
  supersedes: optional(t.array(t.string)),
  /** Approval rules of the actions; left out if one person's approval is enough for each action. */
  approval_terms: optional(PlanTerms),
});
export type PlanFacts = t.TypeOf<typeof PlanFacts>;

export const Usage = t.strict({
  provider: t.string,
  model: t.string,
  tier: t.string,
  input_tokens: t.number,
  output_tokens: t.number,
  cached_tokens: t.number,
  cost: nullable(t.number),
});
export type Usage = t.TypeOf<typeof Usage>;

/** Agent and version as it says itself. */
export const AgentProgram = t.strict({ name: t.string, version: nullable(t.string) });

export const agentEnds = ['finished', 'bound', 'cancelled', 'failed'] as const;
export const agentBounds = ['money', 'seconds', 'turns'] as const;

/** Usage of an agent so far. `seconds` is of this attempt; the gateway counts the rest over all attempts of the run. */
const agentUse = {
  attempt: integerBetween(1, 1_000_000),
  seconds: t.number,
  /** Calls of the model; null if the agent does not use the gateway. */
  turns: nullable(t.number),
  usage: nullable(Usage),
  program: nullable(AgentProgram),
  /** Artifact with the activity and messages since the event before, as JSON lines; null if there are none. */
  transcript: nullable(Sha256),
};

export const MaskedSecret = t.strict({
  /** For example `github_token`. */
  kind: t.string,
  /** Names the secret without telling it; `released_secrets` of policy.json takes it. */
  fingerprint: t.string,
  /** Where it stood, for people. */
  place: t.string,
});

const ChainPlace = t.strict({ seq: t.number, hash: Sha256 });

/** Both tokens by the sha256 of their texts. */
export const TokenRotated = t.strict({ name: t.string, from: Sha256, to: Sha256, at: Timestamp });
export type TokenRotated = t.TypeOf<typeof TokenRotated>;

const eventData = {
  /** `head_kept`: the head of the chain is also stored outside the chain, from the first event on. */
  run_created: t.strict({ request: RunRequest, head_kept: optional(t.literal(true)) }),
  planning_started: t.strict({ pid: t.number }),
  source_read: t.strict({
    issue: IssueFacts,
    /** Id at the forge, which stays the same when the repository is renamed. */
    repository_id: t.string,
    html_url: nullable(t.string),
    clone_url: t.string,
    push_url: t.string,
    base_branch: t.string,
    base_commit: t.string,
    forge_time: Timestamp,
  }),
  /** Secrets that were masked before anything was made of the texts that held them; only those that are new. */
  secrets_masked: t.strict({ found: t.array(MaskedSecret) }),
  /** The prompt as the model was sent it: system and user message and the tools, an artifact. The turns follow it. */
  planner_prompt: t.strict({ content: Sha256 }),
  /** One turn of the planner's conversation; the messages are the artifact. */
  planner_turn: t.strict({ content: Sha256, usage: Usage, tool_calls: t.array(t.string) }),
  /** Durable before a coding agent is started. `bounds` is what is left of them. */
  agent_started: t.strict({
    attempt: integerBetween(1, 1_000_000),
    agent: t.string,
    protocol: t.string,
    sandbox: t.string,
    /** null if the agent does not use a model of the gateway. */
    model: nullable(t.string),
    bounds: t.strict({ money: t.number, seconds: t.number, turns: t.number }),
    /** Hosts that it may reach, and files of the person's home that it got. */
    hosts: t.array(t.string),
    credentials: t.array(t.string),
  }),
  agent_progressed: t.strict(agentUse),
  agent_ended: t.strict({
    ...agentUse,
    end: oneOf(agentEnds),
    bound: nullable(oneOf(agentBounds)),
    /** Reason that the agent reports, or its exit status. */
    stop_reason: nullable(t.string),
    message: t.string,
    connections: t.array(
      t.strict({ host: t.string, connections: t.number, bytes_sent: t.number, bytes_received: t.number }),
    ),
  }),
  /** Changes that the agent left in its files. `submitted`: they become the plan; otherwise they remain a draft. */
  agent_read_back: t.strict({
    attempt: integerBetween(1, 1_000_000),
    submitted: t.boolean,
    /** Patch artifact; null if nothing changed. */
    patch: nullable(Sha256),
    title: t.string,
    /** Markdown, an artifact. */
    explanation: Sha256,
    /** Passages of the context service that it was shown. */
    influences: optional(t.array(Influence)),
  }),
  action_proposed: t.strict({ action: ActionDefinition }),
  plan_sealed: t.strict({ plan: PlanFacts }),
  planning_failed: t.strict({ code: t.string, message: t.string, retryable: optional(t.boolean) }),
  approval_recorded: t.strict({ action_id: t.string, approval: Approval }),
  /** A token that decided here was rotated, and its decisions still count. Recorded before the first action that needs this. */
  token_rotated: TokenRotated,
  execution_started: t.strict({
    execution_id: t.string,
    kind: oneOf(['execute', 'resume']),
    /** Absolute path of the person's checkout; null: nothing is delivered. */
    repo_dir: nullable(t.string),
    /** The checkout itself; left out in records of older versions. */
    checkout: optional(CheckoutPlace),
    /** false: `repo_dir` is null because the caller did not say whether there is one. */
    checkout_named: optional(t.literal(false)),
    selected: t.array(t.string),
    dry_run: t.boolean,
    by: t.string,
    pid: t.number,
  }),
  /** The clone exists; `operation_id` is from before the run's first write. */
  workspace_opened: t.strict({ vcs: VcsFacts, clone_dir: t.string, warning: nullable(t.string) }),
  /** Refused, or blocked by another action; nothing was tried. */
  action_refused: t.strict({
    action_id: t.string,
    state: oneOf(['refused', 'blocked']),
    outcome: ActionOutcome,
  }),
  /** Durable before the effect. */
  action_intent: ActionIntent,
  action_result: t.strict({
    action_id: t.string,
    state: oneOf(['succeeded', 'failed', 'unknown']),
    /** True in a dry run. */
    rehearsal: t.boolean,
    /** Learned by asking afterwards and not from the effect's own answer. */
    reconciled: t.boolean,
    outcome: ActionOutcome,
    vcs: nullable(VcsFacts),
  }),
  execution_finished: t.strict({
    execution_id: t.string,
    stopped: nullable(oneOf(['cancelled', 'failed'])),
    message: t.string,
  }),
  cancel_requested: t.strict({ by: t.string, reason: nullable(t.string) }),
  run_cancelled: t.strict({ message: t.string }),
  /** A newer plan of the same issue supersedes the run. Its actions can no longer be approved or executed. */
  run_superseded: t.strict({ by_run: t.string }),
  /** Where the base branch was seen, and which files of the change had moved there since the plan was made; only what is new. */
  base_seen: t.strict({ base_branch: t.string, commit: t.string, files: t.array(t.string) }),
  /** Changes of the issue since it was planned, as text; null if there are none. Recorded only if new. */
  issue_seen: t.strict({ changed: nullable(t.string) }),
  /** The name under which the forge had the repository, after a rename or a transfer; only what is new. */
  repository_seen: t.strict({ owner: t.string, repo: t.string }),
  undo_started: t.strict({ undo_id: t.string, by: t.string, pid: t.number }),
  undo_intent: t.strict({ undo_id: t.string, action_id: t.string, facts: t.UnknownRecord }),
  undo_result: t.strict({
    undo_id: t.string,
    action_id: t.string,
    state: oneOf(['undone', 'kept', 'failed']),
    message: t.string,
  }),
  undo_finished: t.strict({ undo_id: t.string, complete: t.boolean, message: t.string }),
  /** State of the run's pull request at the forge. Recorded only if new. */
  pull_request_seen: t.strict({
    number: t.number,
    url: nullable(t.string),
    state: oneOf(pullRequestStates),
    /** When it was merged or closed, by the forge's clock. */
    ended_at: nullable(Timestamp),
    head_commit: nullable(t.string),
    checks: oneOf(checkStates),
    /** Names of the checks that failed. */
    failed_checks: t.array(t.string),
  }),
  /** Acknowledged events were missing or changed, and a person let the run continue from the sound events. */
  record_recovered: t.strict({
    by: t.string,
    reason: t.string,
    /** Newest acknowledged event; null if that was lost too. */
    lost: nullable(ChainPlace),
    kept: ChainPlace,
    /** Bytes after the last sound event. */
    set_aside: nullable(t.strict({ bytes: t.number, artifact: Sha256 })),
  }),
};

type EventData = typeof eventData;
export type EventType = keyof EventData;
export type DataOf<T extends EventType> = t.TypeOf<EventData[T]>;
/** Event without its envelope, which the store adds. */
export type NewEvent = { [T in EventType]: { readonly type: T; readonly data: DataOf<T> } }[EventType];

export const eventTypes = Object.keys(eventData) as EventType[];

export const EventEnvelope = t.strict({
  /** From 1. */
  seq: integerBetween(1, Number.MAX_SAFE_INTEGER),
  at: Timestamp,
  type: oneOf(eventTypes as [EventType, ...EventType[]]),
  data: t.UnknownRecord,
  /** `hash` of the event before; 64 zeros for the first. */
  prev: Sha256,
  /** sha256 over the canonical JSON of seq, at, type, data and prev. */
  hash: Sha256,
});
export type RawEvent = t.TypeOf<typeof EventEnvelope>;
export type RunEvent = NewEvent & Readonly<Omit<RawEvent, 'type' | 'data'>>;

export function dataCodec(type: EventType): t.Mixed {
  return eventData[type];
}
