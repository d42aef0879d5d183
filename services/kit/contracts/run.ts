import * as t from 'io-ts';
import { NonEmptyString, nullable, oneOf, optional, Timestamp } from '../decode.ts';
import { textMasked, withoutSecrets } from '../redaction/masked-text.ts';
import { ProposedAction } from './action.ts';
import { gates, runStatuses } from './vocabulary.ts';

export const RunStatus = oneOf(runStatuses);
export type RunStatus = t.TypeOf<typeof RunStatus>;

const waits = {
  /** Actions that wait for a decision. */
  waiting: t.number,
  /** The first gate of those that wait; null where none does. */
  waits_for: nullable(oneOf(gates)),
};

export const RunSummary = t.strict({
  run_id: t.string,
  status: RunStatus,
  forge: t.string,
  owner: t.string,
  repo: t.string,
  /** Of the issue; null for a task, which is of no issue. */
  number: nullable(t.number),
  title: nullable(t.string),
  role: t.string,
  created_at: Timestamp,
  updated_at: Timestamp,
  highest_risk: nullable(t.string),
  ...waits,
  actions: t.number,
});
export type RunSummary = t.TypeOf<typeof RunSummary>;

/** `GET /v1/runs`, newest first. */
export const RunList = t.strict({
  runs: t.array(RunSummary),
  /** Give it as `cursor` for the next page; null on the last. */
  next_cursor: nullable(t.string),
  /** What lies among the runs and is none, and runs that cannot be read. */
  problems: t.array(t.string),
});
export type RunList = t.TypeOf<typeof RunList>;

/** `GET /v1/runs/{run_id}`: what is known of a run, with its actions as they stand. */
/** What a coding agent did for a run. */
export const AgentState = t.strict({
  /** Name in agents.json. */
  name: t.string,
  /** As it says itself; null where it said nothing. */
  program: nullable(t.strict({ name: t.string, version: nullable(t.string) })),
  /** How often it was started. */
  attempts: t.number,
  /** Of all attempts. */
  seconds: t.number,
  /** Calls of the model; null where it asks none of the gateway. */
  turns: nullable(t.number),
  /** How its last attempt ended; null while it is at work, or where nobody saw its end. */
  end: nullable(t.string),
  /** True if it left a draft that is no plan: `…/draft` has it. */
  draft: t.boolean,
});

export const RunDetail = t.strict({
  run_id: t.string,
  status: RunStatus,
  request: t.UnknownRecord,
  created_at: Timestamp,
  updated_at: Timestamp,
  /** Newest event: its number and hash. */
  head: t.strict({ seq: t.number, hash: t.string }),
  source: nullable(t.UnknownRecord),
  issue: nullable(t.UnknownRecord),
  plan: nullable(t.UnknownRecord),
  actions: t.array(ProposedAction),
  ...waits,
  usage: nullable(t.UnknownRecord),
  /** `retryable`: the same planning can succeed later. */
  failure: nullable(t.strict({ code: t.string, message: t.string, retryable: optional(t.boolean) })),
  execution: nullable(t.UnknownRecord),
  workspace: nullable(t.UnknownRecord),
  undo: nullable(t.UnknownRecord),
  /** As the forge was seen to have it last, by `core sync`. */
  pull_request: nullable(t.UnknownRecord),
  /** sha256 of the artifacts of what a model was sent and answered: the prompt (null without one), then turn by turn. */
  conversation: t.strict({
    prompt: nullable(t.string),
    turns: t.array(t.string),
    /** What a coding agent did and said, in JSON lines, piece by piece. */
    transcript: t.array(t.string),
  }),
  /** The coding agent that plans or planned it; null where none was started. */
  agent: nullable(AgentState),
  /** Secrets that were masked in what the run read, each once for each place. */
  masked: t.array(t.strict({ kind: t.string, fingerprint: t.string, place: t.string })),
  cancelling: t.boolean,
  /** The newer run of the same issue that took its place; null while none did. */
  superseded_by: nullable(t.string),
  /** Files of the change that had moved on the base branch when it was looked at last; null where none had. */
  base_moved: nullable(t.strict({ base_branch: t.string, commit: t.string, files: t.array(t.string) })),
  /** What became of the issue since it was planned, before something was published; null where it was as before. */
  issue_changed: nullable(t.string),
  /** The name of its repository when the forge was asked last; null while that is the planned one. */
  renamed: nullable(t.strict({ owner: t.string, repo: t.string })),
  /** Each time that the run went on although events of its record were lost. */
  recoveries: t.array(t.UnknownRecord),
});
export type RunDetail = t.TypeOf<typeof RunDetail>;

/** Answer 202: the work continues in the daemon; `…/events` reports it. */
export const Accepted = t.strict({
  run_id: t.string,
  status: RunStatus,
  events: t.string,
  /** Of a planning: false where an earlier request with the same key made the run. */
  created: optional(t.boolean),
});
export type Accepted = t.TypeOf<typeof Accepted>;

/** Body of `POST /v1/runs/{run_id}/execute`. */
export const ExecuteBody = t.strict({
  /** Name of a working copy in the setting `agentd.checkouts`, or null for none; left out where this host has none of the repository. */
  checkout: optional(nullable(withoutSecrets(NonEmptyString))),
  /** action_ids; left out for every action. */
  actions: optional(nullable(t.array(withoutSecrets(NonEmptyString)))),
  dry_run: optional(t.boolean),
});

/** Body of `POST /v1/runs/{run_id}/cancel`. */
export const CancelBody = t.strict({ reason: optional(nullable(textMasked(NonEmptyString))) });

const ChainPlace = t.strict({ seq: t.number, hash: t.string });

/** Answer of `GET /v1/runs/{run_id}/recover`: state of a run's record, compared with its newest acknowledged event. */
export const RecordState = t.strict({
  run_id: t.string,
  /** The newest event that was acknowledged, by what is kept outside the run's folder; null where that says nothing. */
  acknowledged: nullable(ChainPlace),
  /** What kind of event it was. */
  last_type: nullable(t.string),
  /** The newest event of the log up to which everything holds; null without a log. */
  kept: nullable(ChainPlace),
  /** Bytes of the log behind it. */
  bytes_behind: t.number,
  /** null when the record is whole, or has gone on since without what it lost. */
  problem: nullable(t.string),
  /** Whether the mirror on this host has what is missing, and it can be put back. */
  restorable: t.boolean,
  /** When somebody last accepted a loss, by whom, and the event of the log that says so; null where nobody did. */
  recovered: nullable(t.strict({ seq: t.number, at: Timestamp, by: t.string })),
});
export type RecordState = t.TypeOf<typeof RecordState>;

/** Body of `POST /v1/runs/{run_id}/recover`. */
export const RecoverBody = t.strict({ accept_loss: t.literal(true), reason: textMasked(NonEmptyString) });

/** `POST …/resume` and `…/undo` take no members. */
export const EmptyBody = t.strict({});

/** One line of `GET /v1/runs/{run_id}/events`; `data` depends on `type`. */
export const RunEventLine = t.strict({
  seq: t.number,
  at: Timestamp,
  type: t.string,
  data: t.UnknownRecord,
  prev: t.string,
  hash: t.string,
});
export type RunEventLine = t.TypeOf<typeof RunEventLine>;

/** The planned name and the name now, for people. */
export function renamedText(planned: string, { owner, repo }: NonNullable<RunDetail['renamed']>): string {
  return `${planned} is called ${owner}/${repo} now; sync and undo follow it, and what is not published yet needs a new plan`;
}

/** For people, before they approve what would be published. */
export function movedText({ base_branch, commit, files }: NonNullable<RunDetail['base_moved']>): string {
  const some = files.slice(0, 5).join(', ');
  const rest = files.length > 5 ? ` and ${files.length - 5} more` : '';
  return `${base_branch} is at ${commit.slice(0, 7)} by now and changed ${some}${rest}, which this plan changes too; plan the issue again to start from there`;
}
