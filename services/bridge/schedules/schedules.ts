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
import type { HeldSchedule, ScheduleRow, ScheduleRows } from './schedule-rows.ts';

export interface SchedulesParts {
  readonly schedules: readonly Schedule[];
  readonly rows: ScheduleRows;
  readonly daemon: Pick<Daemon, 'issues'>;
  readonly queue: Pick<EventQueue, 'accept'>;
  readonly roles: RoleMap;
  readonly logger: Logger;
  /** Called when events were created. */
  readonly made: () => void;
}

/** How the schedules do. */
export interface SchedulesState {
  /** Milliseconds since the bus called; null before the first time. */
  readonly silentMs: number | null;
  /** What does not work, by the name of its schedule. */
  readonly problems: readonly string[];
}

/** Timers may wake so much before the minute that they are for. */
const earlyMs = 50;

/**
 * When a schedule is due, makes an event of its task, or asks the forge and makes one of each issue that was not planned since its
 * last update. Of several hosts with the same store one does it, at the time of the store's clock.
 */
export class Schedules {
  readonly #parts: SchedulesParts;
  readonly #times: ReadonlyMap<string, ReturnType<typeof cronTimes>>;
  readonly #ending = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #begun: Promise<void> | null = null;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
    this.#times = new Map(parts.schedules.map(({ name, cron, zone }) => [name, cronTimes(cron, zone)]));
  }

  get any(): boolean {
    return this.#parts.schedules.some(({ enabled }) => enabled);
  }

  /** Schedules that were not there before begin now. Tried again with the next tick where the store was away. */
  begin(): Promise<void> {
    const { rows, schedules } = this.#parts;
    this.#begun ??= rows.begin(schedules.map(({ name }) => name)).catch((error) => {
      this.#begun = null;
      throw error;
    });
    return this.#begun;
  }

  /** A minute has come. Ticks that come together are one after the other; what one did the next does not do again. */
  tick(): Promise<TickResult> {
    const work = this.#last.then(() => this.#tickOnce());
    this.#last = work.catch(() => {});
    return work;
  }

  async list(): Promise<ScheduleList> {
    await this.begin();
    const { rows, lastTick } = await this.#parts.rows.read();
    return {
      schedules: this.#parts.schedules.map((schedule) => this.#view(schedule, rows.get(schedule.name)!)),
      last_tick_at: lastTick === null ? null : new Date(lastTick).toISOString(),
    };
  }

  async state(): Promise<SchedulesState> {
    const { now, rows, lastTick } = await this.#parts.rows.read();
    const problems = this.#parts.schedules.flatMap(({ name, enabled }) => {
      const problem = rows.get(name)?.result?.problem ?? null;
      return enabled && problem !== null ? [`${name}: ${problem}`] : [];
    });
    return { silentMs: lastTick === null ? null : now - lastTick, problems };
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#last;
  }

  async #tickOnce(): Promise<TickResult> {
    const { rows, schedules } = this.#parts;
    await this.begin();
    await rows.ticked();
    const { now, rows: current } = await rows.read();
    const due: string[] = [];
    const problems: string[] = [];
    let events = 0;
    for (const schedule of schedules) {
      if (this.#ending.signal.aborted) break;
      const { name } = schedule;
      if (!this.#concerns(name, current.get(name)!, now + earlyMs)) continue;
      await rows.alone(name, async (held) => {
        const result = await this.#look(schedule, held);
        if (result === null) return;
        due.push(name);
        events += result.events;
        if (result.problem !== null) problems.push(`${name}: ${result.problem}`);
      });
    }
    if (events > 0) this.#parts.made();
    return { ok: problems.length === 0, due, events, problems };
  }

  /** Whether it is due, or the clock was set back since it was. */
  #concerns(name: string, { evaluated_until: until }: ScheduleRow, now: number): boolean {
    const next = this.#times.get(name)!(Math.min(until, now));
    return until > now || (next !== null && next <= now);
  }

  /**
   * Several times that were missed are due once. Where the clock went back a time may come again; the events that it makes are
   * then here already.
   * @returns null where it is not due
   */
  async #look(schedule: Schedule, held: HeldSchedule): Promise<ScheduleResult | null> {
    const now = held.now + earlyMs;
    const { evaluated_until: until } = held;
    const next = this.#times.get(schedule.name)!(Math.min(until, now));
    const isDue = next !== null && next <= now;
    if (isDue && schedule.enabled) return this.#evaluate(schedule, next, held);
    if (isDue || until > now) await held.passed(now);
    return null;
  }

  async #evaluate(schedule: Schedule, time: number, held: HeldSchedule): Promise<ScheduleResult> {
    const { logger } = this.#parts;
    const { name } = schedule;
    const now = held.now + earlyMs;
    const at = new Date(now).toISOString();
    try {
      const result: ScheduleResult = { at, ...(await this.#makeEvents(schedule, time)), problem: null };
      await held.passed(now, result);
      logger.info(`schedule ${name} was due`, { issues: result.issues, events: result.events });
      return result;
    } catch (error) {
      const problem = messageOf(error);
      const result: ScheduleResult = { at, issues: 0, events: 0, planned: 0, problem };
      await held.failed(result);
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

  #view(schedule: Schedule, { evaluated_until, result }: ScheduleRow): ScheduleView {
    const next = schedule.enabled ? this.#times.get(schedule.name)!(evaluated_until) : null;
    return {
      ...schedule,
      next_at: next === null ? null : new Date(next).toISOString(),
      evaluated_until: new Date(evaluated_until).toISOString(),
      last_result: result,
    };
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
