import * as t from 'io-ts';
import { integerBetween, nullable, oneOf, Sha256, stringThat, Timestamp } from '../../decode.ts';
import { textMasked, withoutSecrets } from '../../redaction/masked-text.ts';
import {
  actionKinds,
  actionStates,
  approvals,
  caseOutcomes,
  checkStates,
  gates,
  pullRequestStates,
  risks,
  runStatuses,
} from '../vocabulary.ts';
import { RepositoryName, Source } from './members.ts';

/** What core-agentd reports to core-context about its runs, and asks before it proposes actions. */

const Id = stringThat('Id', "an identifier of 1 to 100 letters, digits, '_' and '-'", (text) =>
  /^[A-Za-z0-9_-]{1,100}$/.test(text),
);

/** The place in the run's log that a message is folded from; a higher one is newer. */
const Sequence = integerBetween(0, Number.MAX_SAFE_INTEGER);

/** NUL and lone surrogates would not come back as they were. */
function anyTextUpTo(characters: number): t.Type<string> {
  return stringThat(
    `text up to ${characters}`,
    `a text of at most ${characters} characters, without NUL and lone surrogates`,
    (text) => text.length <= characters && text.isWellFormed() && !text.includes('\0'),
  );
}

function textUpTo(characters: number): t.Type<string> {
  return textMasked(anyTextUpTo(characters));
}

/** A sentence or a title. */
const Line = textUpTo(4_000);
const Path = withoutSecrets(anyTextUpTo(4_000));

export const RunArtifact = t.strict({ sha256: Sha256, title: Line });

export const PlannedAction = t.strict({
  action_id: Id,
  ordinal: integerBetween(1, 10_000),
  kind: oneOf(actionKinds),
  gate: oneOf(gates),
  title: Line,
  risk: oneOf(risks),
  risk_score: integerBetween(0, 100),
  dry_run: t.boolean,
  digest: Sha256,
});

/** Body of `POST /v1/execution/plan`: one run as it was planned. */
export const PlanRecord = t.strict({
  run_id: Id,
  seq: Sequence,
  created_at: Timestamp,
  planned_at: Timestamp,
  /** `forge/owner/repo`. */
  repository: RepositoryName,
  role: Line,
  planner: Line,
  status: oneOf(runStatuses),
  dry_run: t.boolean,
  issue: t.strict({
    /** null for a task, which is of no issue. */
    number: nullable(integerBetween(1, 2_147_483_647)),
    title: Line,
    /** Secrets masked. */
    body: textUpTo(100_000),
    state: Line,
    author: Line,
    /** How the author stands to the repository, by the forge's word. */
    association: Line,
    url: nullable(Line),
  }),
  /** What the planner wants, in one line; null where planning ended without a plan. */
  title: nullable(Line),
  summary: textUpTo(20_000),
  model: nullable(t.strict({ provider: Line, model: Line, tier: Line })),
  recovery_branch: nullable(Line),
  base_commit: nullable(Line),
  /** Paths that the change touches. */
  files: t.array(Path),
  artifacts: t.array(RunArtifact),
  /** No two with one id or one place. */
  actions: t.array(PlannedAction),
});
export type PlanRecord = t.TypeOf<typeof PlanRecord>;

export const ActionOutcomeRecord = t.strict({
  action_id: Id,
  approval: oneOf(approvals),
  /** Who decided last; null while nobody did. */
  decided_by: nullable(Line),
  decided_at: nullable(Timestamp),
  reason: nullable(textUpTo(10_000)),
  /** Decisions that were taken back since, oldest first. */
  earlier_rejections: t.array(t.strict({ by: Line, at: Timestamp, reason: textUpTo(10_000) })),
  state: oneOf(actionStates),
  code: nullable(Line),
  message: nullable(textUpTo(10_000)),
  finished_at: nullable(Timestamp),
});

/** One thing that happened to a run, in words. */
export const RunEpisode = t.strict({
  seq: Sequence,
  at: Timestamp,
  /** `core`, or the name of the person who did it. */
  speaker: Line,
  text: textUpTo(10_000),
});

/** Body of `POST /v1/execution/outcome`: what became of a run so far. Older ones than the recorded change nothing. */
export const OutcomeRecord = t.strict({
  run_id: Id,
  seq: Sequence,
  at: Timestamp,
  status: oneOf(runStatuses),
  actions: t.array(ActionOutcomeRecord),
  /** null while nothing was validated. */
  validation: nullable(t.strict({ passed: t.boolean, message: textUpTo(10_000) })),
  pull_request: nullable(
    t.strict({
      number: integerBetween(1, 2_147_483_647),
      url: nullable(Line),
      state: oneOf(pullRequestStates),
      checks: oneOf(checkStates),
      /** When it was seen so. */
      at: Timestamp,
    }),
  ),
  usage: nullable(
    t.strict({
      provider: Line,
      model: Line,
      tier: Line,
      input_tokens: t.number,
      output_tokens: t.number,
      /** In the currency of the configured prices; null where no price is known. */
      cost: nullable(t.number),
    }),
  ),
  errors: t.array(t.strict({ code: Line, message: textUpTo(10_000) })),
  artifacts: t.array(RunArtifact),
  /** At most 500 in one message; those that are known already change nothing. */
  episodes: t.array(RunEpisode),
  /** In a few sentences; null while the run goes on. */
  summary: nullable(textUpTo(20_000)),
});
export type OutcomeRecord = t.TypeOf<typeof OutcomeRecord>;

export const RecordedReply = t.strict({
  run_id: t.string,
  /** false where the same or something newer was there. */
  recorded: t.boolean,
  /** false where the plan of this run was never recorded; record it, then send this again. */
  plan_known: t.boolean,
  /** What could not be kept as a memory, and why. */
  problems: t.array(t.string),
});
export type RecordedReply = t.TypeOf<typeof RecordedReply>;

/** Body of `POST /v1/execution/score`. */
export const ScoreRequest = t.strict({
  repository: RepositoryName,
  role: Line,
  actions: t.array(
    t.strict({
      kind: oneOf(actionKinds),
      /** Paths that the action's change touches; like actions touch like places. */
      files: t.array(Path),
    }),
  ),
});
export type ScoreRequest = t.TypeOf<typeof ScoreRequest>;

export type CaseOutcome = (typeof caseOutcomes)[number];

export const ActionCase = t.strict({
  run_id: t.string,
  action_id: t.string,
  repository: t.string,
  outcome: oneOf(caseOutcomes),
  at: t.string,
  reason: nullable(t.string),
});

export const ActionScore = t.strict({
  kind: oneOf(actionKinds),
  /** 0 to 1: the share of like actions that went well, moved towards `expected` while there are few. */
  score: t.number,
  /** What the score is without any like action. */
  expected: t.number,
  counts: t.strict({
    succeeded: t.number,
    merged: t.number,
    rejected: t.number,
    failed: t.number,
    undone: t.number,
    closed: t.number,
  }),
  /** Those that weigh most, newest first. */
  cases: t.array(ActionCase),
});
export type ActionScore = t.TypeOf<typeof ActionScore>;

/** In the order of the request's actions. */
export const ScoreReply = t.strict({ actions: t.array(ActionScore), source: Source });
export type ScoreReply = t.TypeOf<typeof ScoreReply>;
