import type { DatabaseSync } from 'node:sqlite';
import * as t from 'io-ts';
import type { BusFunction, BusTrigger } from '#kit/bus/bus.ts';
import {
  type ScheduleList,
  type ScheduleResult,
  type ScheduleView,
  TickResult,
} from '#kit/contracts/bridge/schedules.ts';
import type { IssueList } from '#kit/contracts/issues.ts';
import { taskTitle } from '#kit/contracts/plan.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { sha256 } from '#kit/digest.ts';
import { messageOf } from '#kit/errors.ts';
import { jsonSchema } from '#kit/json-schema.ts';
import type { Logger } from '#kit/log.ts';
import type { Daemon } from '../daemon.ts';
import { planned } from '../ingress/ingress-source.ts';
import type { EventQueue } from '../queue/event-queue.ts';
import type { NewEvent } from '../queue/stored-event.ts';
import type { RoleMap } from '../targets/role-map.ts';
import { cronTimes, type Schedule } from './configuration.ts';

export interface SchedulesParts {
  readonly schedules: readonly Schedule[];
  readonly rows: ScheduleRows;
  readonly daemon: Pick<Daemon, 'issues'>;
  readonly queue: Pick<EventQueue, 'accept'>;
  readonly roles: RoleMap;
  readonly logger: Logger;
  /** Called when events were created. */
  readonly made: () => void;
  readonly now?: () => number;
}

/** Timers may wake so much before the minute that they are for. */
const earlyMs = 50;

/**
 * When a schedule is due, makes an event of its task, or asks the forge and makes one of each issue that was not planned since its
 * last update.
 */
export class Schedules {
  readonly #parts: SchedulesParts;
  readonly #now: () => number;
  readonly #times: ReadonlyMap<string, ReturnType<typeof cronTimes>>;
  readonly #ending = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #lastTick: number | null = null;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#times = new Map(parts.schedules.map(({ name, cron, zone }) => [name, cronTimes(cron, zone)]));
    for (const { name } of parts.schedules) parts.rows.begin(name, this.#now());
  }

  get any(): boolean {
    return this.#parts.schedules.some(({ enabled }) => enabled);
  }

  /** Milliseconds since 1970; null before the first. */
  get lastTick(): number | null {
    return this.#lastTick;
  }

  /** A minute has come. Ticks that come together are one after the other; what one did the next does not do again. */
  tick(): Promise<TickResult> {
    const work = this.#last.then(() => this.#tickOnce());
    this.#last = work.catch(() => {});
    return work;
  }

  list(): ScheduleList {
    return {
      schedules: this.#parts.schedules.map((schedule) => this.#view(schedule)),
      last_tick_at: this.#lastTick === null ? null : new Date(this.#lastTick).toISOString(),
    };
  }

  /** What does not work, by the name of its schedule. */
  problems(): string[] {
    return this.#parts.schedules.flatMap(({ name, enabled }) => {
      const problem = this.#parts.rows.get(name).result?.problem ?? null;
      return enabled && problem !== null ? [`${name}: ${problem}`] : [];
    });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#last;
  }

  async #tickOnce(): Promise<TickResult> {
    this.#lastTick = this.#now();
    const now = this.#lastTick + earlyMs;
    const due: string[] = [];
    const problems: string[] = [];
    let events = 0;
    for (const schedule of this.#parts.schedules) {
      if (this.#ending.signal.aborted) break;
      const time = this.#dueTime(schedule, now);
      if (time === null) continue;
      const result = await this.#evaluate(schedule, time, now);
      due.push(schedule.name);
      events += result.events;
      if (result.problem !== null) problems.push(`${schedule.name}: ${result.problem}`);
    }
    if (events > 0) this.#parts.made();
    return { ok: problems.length === 0, due, events, problems };
  }

  /**
   * Several times that were missed are due once. Where the clock went back a time may come again; the events that it makes are
   * then here already.
   */
  #dueTime({ name, enabled }: Schedule, now: number): number | null {
    const { rows } = this.#parts;
    const { evaluated_until: until } = rows.get(name);
    if (until > now) rows.passed(name, now);
    const next = this.#times.get(name)!(Math.min(until, now));
    if (next === null || next > now) return null;
    if (enabled) return next;
    rows.passed(name, now);
    return null;
  }

  async #evaluate(schedule: Schedule, time: number, now: number): Promise<ScheduleResult> {
    const { rows, logger } = this.#parts;
    const { name } = schedule;
    const at = new Date(now).toISOString();
    try {
      const result: ScheduleResult = { at, ...(await this.#makeEvents(schedule, time)), problem: null };
      rows.passed(name, now, result);
      logger.info(`schedule ${name} was due`, { issues: result.issues, events: result.events });
      return result;
    } catch (error) {
      const problem = messageOf(error);
      const result: ScheduleResult = { at, issues: 0, events: 0, planned: 0, problem };
      rows.failed(name, result);
      logger.warn(`schedule ${name} stays due: ${problem}`, { error });
      return result;
    }
  }

  async #makeEvents(
    schedule: Schedule,
    time: number,
  ): Promise<Pick<ScheduleResult, 'issues' | 'events' | 'planned'>> {
    const { daemon, roles } = this.#parts;
    if (schedule.task !== null) {
      const made = await this.#accept([taskEvent(schedule, schedule.task, time, roles)]);
      return { issues: 0, events: made, planned: 0 };
    }
    const list = await daemon.issues(schedule, this.#ending.signal);
    const unplanned = list.issues.filter(needsPlanning);
    const made = await this.#accept(unplanned.map((issue) => scheduleEvent(schedule, list, issue, roles)));
    return { issues: list.issues.length, events: made, planned: list.issues.length - unplanned.length };
  }

  /** @returns how many of them are new */
  async #accept(events: readonly NewEvent[]): Promise<number> {
    const accepted = await Promise.all(events.map((event) => this.#parts.queue.accept(event)));
    crashPoint('bridge.schedule_stored');
    return accepted.filter(({ duplicate }) => !duplicate).length;
  }

  #view(schedule: Schedule): ScheduleView {
    const { evaluated_until, result } = this.#parts.rows.get(schedule.name);
    const next = schedule.enabled ? this.#times.get(schedule.name)!(evaluated_until) : null;
    return {
      ...schedule,
      next_at: next === null ? null : new Date(next).toISOString(),
      evaluated_until: new Date(evaluated_until).toISOString(),
      last_result: result,
    };
  }
}

/** How far each schedule has come. Times are milliseconds since 1970. */
export class ScheduleRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** A schedule that was not there before begins at `now`: what was due earlier is not made up for. */
  begin(name: string, now: number): void {
    const sql = 'INSERT INTO schedules (name, evaluated_until) VALUES (?, ?) ON CONFLICT DO NOTHING';
    this.#db.prepare(sql).run(name, now);
  }

  get(name: string): { readonly evaluated_until: number; readonly result: ScheduleResult | null } {
    const sql = 'SELECT evaluated_until, result FROM schedules WHERE name = ?';
    const { evaluated_until, result } = this.#db.prepare(sql).get(name)!;
    return {
      evaluated_until: Number(evaluated_until),
      result: result === null ? null : (JSON.parse(String(result)) as ScheduleResult),
    };
  }

  /** Everything due up to `until` is done; `result` is left out where nothing was due. */
  passed(name: string, until: number, result?: ScheduleResult): void {
    const sql = 'UPDATE schedules SET evaluated_until = ?, result = coalesce(?, result) WHERE name = ?';
    this.#db.prepare(sql).run(until, result === undefined ? null : JSON.stringify(result), name);
  }

  /** It is due still. */
  failed(name: string, result: ScheduleResult): void {
    const sql = 'UPDATE schedules SET result = ? WHERE name = ?';
    this.#db.prepare(sql).run(JSON.stringify(result), name);
  }
}

export type ListedIssue = IssueList['issues'][number];

/** Whether an issue has changed since it was planned, other than by Core's own comments, or was never planned. */
export function needsPlanning({ planned }: ListedIssue): boolean {
  return planned === null || !planned.unchanged;
}

/** An issue as a schedule found it. Its id names the update, so that the same update is one event however often it is found. */
export function scheduleEvent(
  { name, role }: Schedule,
  { forge, owner, repo }: Pick<IssueList, 'forge' | 'owner' | 'repo'>,
  { number, title, state, labels, updated_at, html_url }: ListedIssue,
  roles: RoleMap,
): NewEvent {
  const issue = `${owner}/${repo}#${number}`;
  const event_id = `schedule:${name}:${forge}/${issue}:${updated_at}`;
  return planned({
    event_id,
    source: 'schedule',
    body_sha256: sha256(event_id),
    content: {
      kind: 'schedule',
      occurred_at: updated_at,
      issue: { id: issue, title, status: state, labels, url: html_url },
      actor: `schedule ${name}`,
    },
    found: { target: { forge, owner, repo, number } },
    choice: roles.choose(role, [], null),
    by: `schedule:${name}`,
  });
}

/** A task at a time of its schedule; one that waits still, or was just planned, is not planned twice. */
export function taskEvent(
  { name, role, forge, owner, repo }: Schedule,
  task: string,
  time: number,
  roles: RoleMap,
): NewEvent {
  const occurred_at = new Date(time).toISOString();
  const event_id = `schedule:${name}:${owner}/${repo}:${occurred_at}`;
  const title = taskTitle(task).slice(0, 2_000);
  return planned({
    event_id,
    source: 'schedule',
    body_sha256: sha256(event_id),
    issue_sha256: sha256(task),
    content: {
      kind: 'schedule',
      occurred_at,
      issue: { id: `${owner}/${repo}`, title, status: 'task', labels: [], url: null },
      actor: `schedule ${name}`,
    },
    found: { target: { forge, owner, repo, number: null, task } },
    choice: roles.choose(role, [], null),
    by: `schedule:${name}`,
  });
}

export const tickFunctionId = 'core.schedules.tick';

/** What the bus calls each minute; which schedules are due is found out here, where time zones are known. */
export function tickFunction(schedules: Pick<Schedules, 'tick'>): BusFunction {
  return {
    id: tickFunctionId,
    description: 'Finds the schedules that are due, and makes events of their issues and tasks',
    request: jsonSchema(t.strict({})),
    response: jsonSchema(TickResult),
    handle: () => schedules.tick(),
  };
}

/** Seconds first, as iii has it. */
export const everyMinute: BusTrigger = {
  type: 'cron',
  function_id: tickFunctionId,
  config: { expression: '0 * * * * *' },
};
