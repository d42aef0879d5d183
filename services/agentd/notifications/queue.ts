import type { Backlog } from '#kit/contracts/health.ts';
import type { JobClaim } from '#kit/jobs/database-jobs.ts';
import { DurableQueue } from '#kit/jobs/durable-queue.ts';
import { once } from '#kit/once.ts';
import type { RunChanges } from '../runs/run-store.ts';
import type { Notice } from './notice.ts';
import type { Job, Looked, NotificationRows, Target } from './notification-rows.ts';

/** Twelve attempts outlast nine hours. */
const retry = { attempts: 12, first: 10, max: 3_600 };
/** Longer than a message may take. */
const leaseMs = 60_000;
/** Of one message. */
const maxNotices = 100;

export interface Claimed {
  readonly claim: JobClaim;
  readonly notice: Notice;
}

interface Opened {
  readonly rows: NotificationRows;
  readonly queue: DurableQueue;
}

/** Notifications that are still to be sent, and those that were: each once for a person and a channel. */
export class NotificationQueue {
  readonly #rows: () => Promise<NotificationRows>;
  #open: Promise<Opened> | null = null;

  /** @param open called when it is first used */
  constructor(open: () => Promise<NotificationRows>) {
    this.#rows = once(open);
  }

  /** Runs as they are when the queue is begun are no news. */
  async begin(changes: RunChanges): Promise<void> {
    await (await this.#rows()).begin(changes);
  }

  /** Since when each is notified, in milliseconds since 1970: from the first call on. */
  async since(people: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#opened();
    const since = new Map<string, number>();
    for (const person of people) since.set(person, await rows.since(person));
    return since;
  }

  /** Since when changes of runs are to be looked at; null where everything is. */
  async position(): Promise<string | null> {
    const rows = await this.#rows();
    return (await rows.exists()) ? rows.position() : null;
  }

  /** Those whose log was not looked at as it is now. @param sizes bytes of each run's log */
  async unseen(sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    return (await this.#opened()).rows.unseen(sizes);
  }

  /** Adds what is not there yet, and that the runs were looked at; in one commit. @returns how many were added */
  async add(jobs: readonly Job[], looked: Looked): Promise<number> {
    return (await this.#opened()).rows.add(jobs, looked);
  }

  /** Whom something is due for now. */
  async dueTargets(): Promise<readonly Target[]> {
    const rows = await this.#rows();
    return (await rows.exists()) ? rows.dueTargets() : [];
  }

  /** Everything that is due for one target, for one message. */
  async claim({ person, channel }: Target): Promise<Claimed[]> {
    const { queue } = await this.#opened();
    const claimed: Claimed[] = [];
    while (claimed.length < maxNotices) {
      const taken = await queue.claim(leaseMs, { person, channel });
      if (taken === null) break;
      claimed.push({ claim: taken.claim, notice: JSON.parse(String(taken.row.notice)) as Notice });
    }
    return claimed;
  }

  async done(claim: JobClaim): Promise<void> {
    await (await this.#opened()).queue.done(claim);
  }

  async skipped(claim: JobClaim, message: string): Promise<void> {
    await (await this.#opened()).queue.skipped(claim, { code: 'settled', message });
  }

  /** @returns false where the message is given up */
  async failed(claims: readonly JobClaim[], message: string, minSeconds: number): Promise<boolean> {
    const { queue } = await this.#opened();
    const attempts = Math.max(...claims.map((claim) => claim.attempts));
    // All of them at once, so that they stay one message.
    const together = Math.min(retry.max, retry.first * 6 ** Math.min(attempts, 20)) * 1.2;
    for (const claim of claims)
      await queue.failed(claim, { code: 'delivery_failed', message }, Math.max(minSeconds, together));
    return !claims.every((claim) => queue.isLast(claim));
  }

  /** Tried at another time; no attempt is counted. */
  async postponed(claim: JobClaim, seconds: number): Promise<void> {
    const reason = { code: 'quiet_hours', message: 'quiet hours' };
    await (await this.#opened()).queue.postponed(claim, reason, seconds);
  }

  async counts(): Promise<Readonly<Record<string, number>>> {
    const rows = await this.#rows();
    return (await rows.exists()) ? (await this.#opened()).queue.counts() : {};
  }

  /** What a receiver did not take so far, and why the newest of it failed; null where everything goes well. */
  async problem(): Promise<{ readonly backlog: Backlog; readonly message: string } | null> {
    const rows = await this.#rows();
    const found = (await rows.exists()) ? await rows.notTaken() : null;
    if (found === null) return null;
    const { waiting, oldestMs, message } = found;
    return { backlog: { waiting, oldest_seconds: Math.round(oldestMs / 1000) }, message };
  }

  async close(): Promise<void> {
    await (await this.#rows()).close();
    this.#open = null;
  }

  #opened(): Promise<Opened> {
    this.#open ??= this.#rows()
      .then((rows) => ({ rows, queue: new DurableQueue(rows.jobs, retry) }))
      .catch((error) => {
        this.#open = null;
        throw error;
      });
    return this.#open;
  }
}
