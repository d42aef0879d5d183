import * as t from 'io-ts';
import { integerBetween, NonEmptyString, oneOf, optional } from '../decode.ts';
import { RunTrigger } from './run-trigger.ts';
import { plannerKinds } from './vocabulary.ts';

/** Body of `POST /v1/runs`. */
export const PlanBody = t.strict({
  owner: NonEmptyString,
  repo: NonEmptyString,
  number: integerBetween(1, 2_147_483_647),
  /** Name of a role or its dashboard key; default `Depute`. */
  role: optional(NonEmptyString),
  /** Name of a forge in `config/forges.json`. */
  forge: optional(NonEmptyString),
  planner: optional(oneOf(plannerKinds)),
  /** The run's actions are rehearsals. */
  dry_run: optional(t.boolean),
  /** Runs of the issue that still wait for a decision stay as they are. */
  keep: optional(t.boolean),
  /** Also where the issue is closed, or fixed by a merged pull request of ours. */
  anyway: optional(t.boolean),
  trigger: optional(RunTrigger),
});
export type PlanBody = t.TypeOf<typeof PlanBody>;
