import * as t from 'io-ts';
import { integerBetween, NonEmptyString, nullable, optional, stringThat } from '../../decode.ts';
import { EventActor, PlannerName, RunTrigger, TaskText } from '../plan.ts';
import { RunStatus } from '../run.ts';
import { FunctionFailure } from './function.ts';

export const EventId = stringThat(
  'EventId',
  'a text of 1 to 1000 characters that is not only white space',
  (text) => text.trim() !== '' && text.length <= 1_000,
);

/** Planning one issue, or one task, for one event. The same event again names the same run, and waits for the same planning. */
export const PlanIssueRequest = t.strict({
  event_id: EventId,
  owner: NonEmptyString,
  repo: NonEmptyString,
  /** Of the issue. */
  number: optional(integerBetween(1, 2_147_483_647)),
  /** In place of an issue: what is to be done. */
  task: optional(nullable(TaskText)),
  /** Name of a forge in config/forges.json; its default without it. */
  forge: optional(nullable(NonEmptyString)),
  /** Name of a role or its dashboard key. */
  role: optional(nullable(NonEmptyString)),
  /** Who plans; as configured without it. */
  planner: optional(nullable(PlannerName)),
  /** What led to it, kept with the run. */
  trigger: optional(nullable(RunTrigger)),
  event_actor: optional(nullable(EventActor)),
  /** Runs of the issue that still wait for a decision stay as they are. */
  keep: optional(nullable(t.boolean)),
  /** Also where the issue is closed, or fixed by a merged pull request of ours. */
  anyway: optional(nullable(t.boolean)),
});
export type PlanIssueRequest = t.TypeOf<typeof PlanIssueRequest>;

export const PlanIssueDone = t.strict({
  ok: t.literal(true),
  run_id: t.string,
  status: RunStatus,
  /** False where an earlier call of the same event made the run. */
  created: t.boolean,
  /** How many actions were proposed. */
  actions: t.number,
});
export const PlanIssueResult = t.union([PlanIssueDone, FunctionFailure]);
export type PlanIssueResult = t.TypeOf<typeof PlanIssueResult>;
