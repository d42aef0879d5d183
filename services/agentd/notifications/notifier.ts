import { setTimeout as pause } from 'node:timers/promises';
import { minimatch } from 'minimatch';
import type { InboxItem, InboxKind } from '#kit/contracts/inbox.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { isRetryable, messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { DeliveryFailed } from '#kit/webhooks/webhook.ts';
import type { ApprovalsNow } from '../approval/current.ts';
import { judgedRun } from '../execution/judged-run.ts';
import { inboxItems } from '../inbox/inbox-items.ts';
import { openRuns, type Reader, readerOf } from '../inbox/read-inbox.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { type Channel, sendMs } from './channel.ts';
import {
  type ChannelKind,
  kindsOf,
  type NotificationEvent,
  type NotificationsConfig,
  type NotifiedPerson,
} from './configuration.ts';
import type { Letter, Notice } from './notice.ts';
import type { Job, Target } from './notification-rows.ts';
import type { Claimed, NotificationQueue } from './queue.ts';
import { quietUntil } from './quiet-hours.ts';

export interface NotifierParts {
  readonly store: Pick<RunStore, 'list' | 'read' | 'changes'>;
  readonly queue: NotificationQueue;
  /** Reads the current notifications.json. */
  readonly config: () => NotificationsConfig;
  readonly approvals: () => Promise<ApprovalsNow>;
  /** Opens a channel; null if the person has no such channel. @throws CoreError if it is not set up */
  readonly open: (kind: ChannelKind, person: NotifiedPerson, config: NotificationsConfig) => Channel | null;
  readonly pageOf: (runId: string, config: NotificationsConfig) => string;
  readonly redact: (text: string) => string;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly now: () => number;
}

/** Interval between looks for changes without an event, in ms: approvals that ended, processes that died. */
const everyMs = 60_000;
const recordAgainMs = 1_000;

/** Finds and sends notices, each once for each person. A receiver that does not answer does not delay other receivers. */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #busy = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();
  #looked = 0;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  /** Queues notices about changes, and begins to send due notices. */
  async tick(): Promise<void> {
    await this.look();
    for (const target of await this.#parts.queue.dueTargets()) this.#begin(target);
  }

  /** Waits for notices that are being sent. */
  async settled(): Promise<void> {
    await Promise.all(this.#busy.values());
  }

  /** Queues notices about runs that changed. */
  async look(): Promise<void> {
    const { store, queue, config, approvals, now } = this.#parts;
    const { people } = config();
    if (Object.keys(people).length === 0) return;
    const changes = await store.changes(await queue.position());
    await queue.begin(changes);
    const since = await queue.since(Object.keys(people));
    const sizes = await queue.unseen(changes.sizes);
    const runs = new Set(sizes.keys());
    const time = now();
    if (time - this.#looked >= everyMs || time < this.#looked) {
      this.#looked = time;
      for (const { run_id } of await openRuns(store, new Date(time))) runs.add(run_id);
    }
    if (runs.size === 0) return;
    const current = await approvals();
    const jobs: Job[] = [];
    for (const runId of runs) {
      const run = await this.#read(runId);
      if (run === null) continue;
      const items = inboxItems(
        judgedRun(run, () => current),
        current,
        new Date(time),
      );
      for (const [name, person] of Object.entries(people)) {
        const quiet =
          person.quiet_hours === undefined ? null : quietUntil(person.quiet_hours, new Date(time));
        for (const notice of noticesFor(run, items, person, readerOf(current, name), time))
          if (Date.parse(notice.at) >= since.get(name)!)
            for (const channel of kindsOf(person.channels))
              jobs.push({
                person: name,
                channel,
                notice,
                inMs: Math.max(0, (quiet?.getTime() ?? time) - time),
              });
      }
    }
    if ((await queue.add(jobs, { sizes, position: changes.position })) > 0) crashPoint('notification.queued');
  }

  /** Run; null if it is damaged or pruned, which the list of runs shows. @throws errors that a retry may solve */
  async #read(runId: string): Promise<Run | null> {
    try {
      return await this.#parts.store.read(runId);
    } catch (error) {
      if (isRetryable(error)) throw error;
      return null;
    }
  }

  #begin(target: Target): void {
    const name = JSON.stringify([target.person, target.channel]);
    if (this.#busy.has(name) || this.#ending.signal.aborted) return;
    const work = this.#send(target)
      .catch((error) => this.#parts.logger.warn(`notifications: ${messageOf(error)}`, { error }))
      .finally(() => this.#busy.delete(name));
    this.#busy.set(name, work);
  }

  async #send(target: Target): Promise<void> {
    const { queue, now } = this.#parts;
    const config = this.#parts.config();
    const person = config.people[target.person];
    const claimed = await queue.claim(target);
    const quiet = person?.quiet_hours === undefined ? null : quietUntil(person.quiet_hours, new Date(now()));
    const due: Claimed[] = [];
    for (const one of claimed) {
      if (person === undefined || !kindsOf(person.channels).some((kind) => kind === target.channel))
        await queue.skipped(one.claim, 'notifications.json has no such channel any more');
      else if (quiet !== null) await queue.postponed(one.claim, (quiet.getTime() - now()) / 1000);
      else if (!(await this.#holds(one.notice, target.person, person)))
        await queue.skipped(one.claim, 'somebody has dealt with it');
      else due.push(one);
    }
    const [first, ...more] = due;
    if (first === undefined || person === undefined) return;
    const notices = [first, ...more].map(({ notice }) => this.#redacted(notice));
    await this.#deliver(target, person, config, due, notices as [Notice, ...Notice[]]);
  }

  async #deliver(
    { person: name, channel }: Target,
    person: NotifiedPerson,
    config: NotificationsConfig,
    due: readonly Claimed[],
    notices: readonly [Notice, ...Notice[]],
  ): Promise<void> {
    const { queue, open, pageOf, logger } = this.#parts;
    const letter: Letter = { person: name, notices, pageOf: (runId) => pageOf(runId, config) };
    const claims = due.map(({ claim }) => claim);
    try {
      await sendBy(() => open(channel as ChannelKind, person, config), letter, this.#ending.signal);
    } catch (error) {
      const why = this.#parts.redact(messageOf(error));
      const retryAfter = error instanceof DeliveryFailed ? (error.retryAfter ?? 0) : 0;
      const again = await queue.failed(claims, why, retryAfter);
      logger.warn(`notifications: ${channel} of ${name}: ${why}; ${again ? 'tried again' : 'given up'}`);
      return;
    }
    crashPoint('notification.sent');
    for (const claim of claims) await this.#recordDone(claim);
  }

  /** Until the store takes it, or says that the claim is over: what was sent is not sent again because the store was away. */
  async #recordDone(claim: Claimed['claim']): Promise<void> {
    const { signal } = this.#ending;
    for (;;) {
      try {
        return await this.#parts.queue.done(claim);
      } catch (error) {
        if (!isRetryable(error) || signal.aborted) throw error;
        await pause(recordAgainMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  /** False if the notice is no longer news, because it was handled while it waited. */
  async #holds({ id, run_id }: Notice, name: string, person: NotifiedPerson): Promise<boolean> {
    const run = await this.#read(run_id);
    if (run === null) return false;
    const current = await this.#parts.approvals();
    const items = inboxItems(
      judgedRun(run, () => current),
      current,
      new Date(this.#parts.now()),
    );
    return noticesFor(run, items, person, readerOf(current, name), this.#parts.now()).some(
      (notice) => notice.id === id,
    );
  }

  #redacted(notice: Notice): Notice {
    const { redact } = this.#parts;
    const title = notice.title === null ? null : redact(notice.title);
    return { ...notice, title, text: redact(notice.text) };
  }

  /** Ends what is being sent; what had not come to its end is sent by the next one. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.settled();
    await this.#parts.queue.close();
  }
}

/** @throws DeliveryFailed, CoreError */
export async function sendBy(open: () => Channel | null, letter: Letter, signal: AbortSignal): Promise<void> {
  const channel = open();
  if (channel === null) throw new DeliveryFailed('there is no such channel any more');
  try {
    await channel.send(letter, AbortSignal.any([signal, AbortSignal.timeout(sendMs)]));
  } finally {
    await channel.close();
  }
}

/** Event of each kind of item; null if people see the item only in their inbox. */
const eventOf: Readonly<Record<InboxKind, NotificationEvent | null>> = {
  approval: 'waits_for_you',
  lapsed: 'waits_for_you',
  execution: null,
  validation: 'validation_failed',
  outcome: 'execution_stopped',
  interrupted: 'execution_stopped',
  draft: 'planning_failed',
  planning: 'planning_failed',
};

/** Notices for one person about a run. @param reader that person @param now milliseconds since 1970 */
function noticesFor(
  run: Run,
  items: readonly InboxItem[],
  { events, repositories }: NotifiedPerson,
  reader: Pick<Reader, 'waits'>,
  now: number,
): Notice[] {
  const { owner, repo } = run.request;
  if (repositories?.every((glob) => !minimatch(`${owner}/${repo}`, glob, { nocase: true, dot: true })))
    return [];
  const about = { run_id: run.run_id, subject: subjectOf(run.request), title: run.issue?.title ?? null };
  const found = items.flatMap((item): Notice[] => {
    const event = eventOf[item.kind];
    if (event === null || (event === 'waits_for_you' && !reader.waits(item))) return [];
    // No record says when a token was revoked or a rule was added, so the notice has the current time.
    const isFound = item.kind === 'lapsed' && item.since === run.updated_at;
    const at = isFound ? new Date(now).toISOString() : item.since;
    return [{ ...about, id: item.id, event, at, text: item.text }];
  });
  const pull = run.pull_request;
  if (pull?.state === 'merged') {
    const text = `pull request ${pull.number} was merged`;
    found.push({ ...about, id: `${run.run_id} merged`, event: 'merged', at: pull.at, text });
  }
  return found.filter(({ event }) => events === undefined || events.includes(event));
}
