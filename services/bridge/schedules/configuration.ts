import { Cron } from 'croner';
import * as t from 'io-ts';
import { decodeConcern, mergedDocument, readConcernDocument } from '#kit/config/concern.ts';
import type { KnownForge } from '#kit/config/known-forges.ts';
import { ForgeName, OwnerName, RepoName, textOfAtMost } from '#kit/contracts/bridge/text.ts';
import { issueStates } from '#kit/contracts/issues.ts';
import { TaskText } from '#kit/contracts/plan.ts';
import { integerBetween, nullable, oneOf, optional, stringThat } from '#kit/decode.ts';
import { type FieldError, InvalidInput } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { findSecrets } from '#kit/redaction/redactor.ts';
import type { RoleMap } from '../targets/role-map.ts';

const ScheduleName = stringThat(
  'ScheduleName',
  'a short name of lower-case letters, digits and dashes, for example nightly-bugs',
  (text) => /^[a-z][a-z0-9-]{0,59}$/.test(text),
);

const Zone = stringThat('Zone', 'a time zone of the IANA database, for example Europe/Berlin', isZone);

const CronExpression = new t.Type<string>(
  'Cron',
  (u): u is string => typeof u === 'string' && cronProblem(u) === null,
  (u, context) => {
    const problem = typeof u === 'string' ? cronProblem(u) : 'a text';
    return problem === null
      ? t.success(u as string)
      : t.failure(
          u,
          context,
          `must be a cron expression of five parts, for example 30 6 * * 1-5: ${problem}`,
        );
  },
  t.identity,
);

const ScheduleEntry = t.strict({
  /** Stands in events and lists. */
  name: ScheduleName,
  /** Minute, hour, day of month, month, day of week. */
  cron: CronExpression,
  /** Default UTC. */
  zone: optional(Zone),
  /** Default true. */
  enabled: optional(t.boolean),
  /** Left out: the forge that knows the repository. */
  forge: optional(nullable(ForgeName)),
  /** Of the repository. */
  owner: OwnerName,
  /** Its name. */
  repo: RepoName,
  /** Only issues with it; left out, all. */
  label: optional(nullable(textOfAtMost(200))),
  /** Which issues: open, closed or all. Default open. */
  state: optional(oneOf(issueStates)),
  /** How many issues a time looks at. Default 10. */
  limit: optional(integerBetween(1, 100)),
  /** Key or name; left out, the default role. */
  role: optional(nullable(textOfAtMost(100))),
  /** Planned each time in place of issues; its first line is the title. */
  task: optional(nullable(TaskText)),
});

/** What `config/schedules.json` holds. */
export const SchedulesConfig = t.strict({
  /** Each plans the issues that a query finds, or a task, at its times. */
  schedules: t.array(ScheduleEntry),
});

type Entry = t.TypeOf<typeof ScheduleEntry>;

/** What is planned in a repository when. */
export type Schedule = { readonly [Name in keyof Entry]-?: Exclude<Entry[Name], undefined> };

/** @throws InvalidInput (`config_invalid`) naming file, JSON pointer, value and rule */
export function readSchedules(
  folders: Pick<Folders, 'config'>,
  known: { readonly roles: RoleMap; readonly forges: readonly KnownForge[] },
): readonly Schedule[] {
  const files = readConcernDocument('schedules', folders);
  const { path } = mergedDocument(files);
  const entries = decodeConcern(SchedulesConfig, files).schedules;
  const schedules = entries.map(
    (entry): Schedule => ({
      ...entry,
      zone: entry.zone ?? 'UTC',
      enabled: entry.enabled ?? true,
      forge: entry.forge ?? null,
      label: entry.label ?? null,
      state: entry.state ?? 'open',
      limit: entry.limit ?? 10,
      role: entry.role ?? null,
      task: entry.task ?? null,
    }),
  );
  const errors = [
    ...schedules.flatMap((schedule, index) => problemsOf(schedule, index, schedules, known)),
    ...entries.flatMap(taskProblems),
  ];
  if (errors.length === 0) return schedules;
  const [first] = errors as [FieldError];
  throw new InvalidInput('config_invalid', `${path}: ${first.pointer} ${first.detail}`, {
    errors,
    facts: { path },
    hint: `Correct ${path}.`,
  });
}

/** What the shape alone cannot say. */
function problemsOf(
  { name, forge, role }: Schedule,
  index: number,
  all: readonly Schedule[],
  { roles, forges }: { readonly roles: RoleMap; readonly forges: readonly KnownForge[] },
): FieldError[] {
  const at = `/schedules/${index}`;
  const errors: FieldError[] = [];
  if (all.findIndex((other) => other.name === name) !== index)
    errors.push({ pointer: `${at}/name`, detail: `is "${name}": must not be the name of another schedule` });
  if (forge !== null && !forges.some((known) => known.name === forge)) {
    const choices = forges.map((known) => known.name).join(', ');
    errors.push({ pointer: `${at}/forge`, detail: `is "${forge}": must be one of ${choices}` });
  }
  if (role === null) return errors;
  const choices = roles.view.roles.filter(({ plans }) => plans).map(({ key }) => key);
  if (roles.find(role)?.plans !== true) {
    const detail = `is ${JSON.stringify(role)}: must be a role that plans, one of ${choices.join(', ')}`;
    errors.push({ pointer: `${at}/role`, detail });
  }
  return errors;
}

/** A task is kept and shown as it is, and no query of issues belongs to it. */
function taskProblems(entry: Entry, index: number): FieldError[] {
  const task = entry.task ?? null;
  if (task === null) return [];
  const at = `/schedules/${index}`;
  const [secret] = findSecrets(task);
  const held =
    secret === undefined
      ? []
      : [
          {
            pointer: `${at}/task`,
            detail: `holds what looks like a secret (${secret.kind}): must hold none`,
          },
        ];
  const chosen = (['label', 'state', 'limit'] as const).filter((name) => (entry[name] ?? null) !== null);
  const query = chosen.map((name) => ({
    pointer: `${at}/${name}`,
    detail: `is ${JSON.stringify(entry[name])}: must be left out beside a task, as it chooses issues`,
  }));
  return [...held, ...query];
}

/**
 * The times of a cron expression of five parts in a time zone, to the minute, in milliseconds since 1970. An hour that the clock shows
 * twice, because it is put back, counts once if the expression names hours; with `*` as the hour every hour that passes counts.
 * @returns what gives the first time after another; null where there is none
 */
export function cronTimes(cron: string, zone: string): (time: number) => number | null {
  const times = new Cron(cron, { timezone: zone, paused: true, mode: '5-part' });
  const clock = new Intl.DateTimeFormat('en', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  const namesHours = !cron.trim().split(/\s+/)[1]!.startsWith('*');
  const isRepeated = (time: Date) =>
    namesHours && clockShifts.some((ms) => clock.format(time.getTime() - ms) === clock.format(time));
  return (time) => {
    let next = times.nextRun(new Date(time));
    while (next !== null && isRepeated(next)) next = times.nextRun(next);
    return next?.getTime() ?? null;
  };
}

/** Steps by which clocks are put back, in ms: half an hour on Lord Howe, two hours at Troll. */
const clockShifts = [30, 60, 120].map((minutes) => minutes * 60_000);

/** Why a text is no cron expression of five parts; null where it is one. */
export function cronProblem(text: string): string | null {
  if (text.trim().split(/\s+/).length !== 5) return 'it has not five parts';
  try {
    const first = new Cron(text, { timezone: 'UTC', paused: true, mode: '5-part' }).nextRun();
    return first === null ? 'no time ever fits it' : null;
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

export function isZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return !/^[+-]/.test(text);
  } catch {
    return false;
  }
}
