import * as t from 'io-ts';
import { integerBetween, NonEmptyString, nullable, oneOf, optional, stringThat } from '../decode.ts';
import { webhookForges } from '../forges/registry.ts';
import { secretsRefusedInUse, textMasked, withoutSecrets } from '../redaction/masked-text.ts';

const Word = textMasked(
  stringThat(
    'Word',
    'a text of 1 to 1000 characters without control characters',
    (text) => text.trim() !== '' && text.length <= 1_000 && !/\p{Cc}/u.test(text),
  ),
);
const Name = withoutSecrets(NonEmptyString);

/** What led to a run; said by who asked, kept for people to read, and never acted upon. */
export const RunTrigger = t.strict({
  kind: oneOf(['dashboard', ...webhookForges, 'schedule', 'bus']),
  event_id: optional(nullable(Word)),
  /** What happened, for example `issue.status_changed`, or the name of a schedule. */
  what: optional(nullable(Word)),
  actor: optional(nullable(Word)),
});

/** Right that the account behind an event of a forge needs in the repository. */
export const actorRights = ['anyone', 'triage', 'write'] as const;
export const ActorRight = oneOf(actorRights);
export type ActorRight = t.TypeOf<typeof ActorRight>;

/** Account that caused an event on the forge. The forge is asked for its right; an outsider's run replaces no other run. */
export const EventActor = t.strict({ login: Name, needs: ActorRight });
export type EventActor = t.TypeOf<typeof EventActor>;

/** What is to be done, where no issue says it; its first line is the title. */
export const TaskText = secretsRefusedInUse(
  stringThat(
    'TaskText',
    'a text of 1 to 20000 characters that is not only white space, without NUL and lone surrogates',
    (text) => text.trim() !== '' && text.length <= 20_000 && text.isWellFormed() && !text.includes('\0'),
  ),
);

/** What the next planning should know beside its issue or task, for example about lines of an earlier change. */
export const NoteText = secretsRefusedInUse(
  stringThat(
    'NoteText',
    'a text of 1 to 10000 characters that is not only white space, without NUL and lone surrogates',
    (text) => text.trim() !== '' && text.length <= 10_000 && text.isWellFormed() && !text.includes('\0'),
  ),
);

/** For lists; a text that has more than white space has one. */
export function taskTitle(task: string): string {
  return task.trim().split('\n', 1)[0]!;
}

/** A kind of planner, or an agent by its name in `config/agents.json`. */
export const PlannerName = stringThat(
  'PlannerName',
  'patch, model, agent, or the name of an agent of agents.json',
  (text) => /^[a-z][a-z0-9-]{0,39}$/.test(text),
);

/** Body of `POST /v1/runs`: with either a number or a task. */
export const PlanBody = t.strict({
  owner: Name,
  repo: Name,
  /** Of the issue. */
  number: optional(integerBetween(1, 2_147_483_647)),
  /** In place of an issue: nothing is read from or written to one. */
  task: optional(TaskText),
  /** Beside the issue or the task; planners with a model get it as data. */
  note: optional(NoteText),
  /** Name of a role or its dashboard key; default `Depute`. */
  role: optional(Name),
  /** Name of a forge in `config/forges.json`. */
  forge: optional(Name),
  /** `patch`, `model`, `agent`, or the name of an agent in `config/agents.json`. */
  planner: optional(PlannerName),
  /** Every check of the run's actions is made, no effect happens. */
  dry_run: optional(t.boolean),
  /** Runs of the issue that still wait for a decision stay as they are. */
  keep: optional(t.boolean),
  /** Also where the issue is closed, or fixed by a merged pull request of ours. */
  anyway: optional(t.boolean),
  trigger: optional(RunTrigger),
  event_actor: optional(EventActor),
});
export type PlanBody = t.TypeOf<typeof PlanBody>;
