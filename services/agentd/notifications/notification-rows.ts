import type { JobRows } from '#kit/jobs/durable-queue.ts';
import type { Notice } from './notice.ts';

export interface Target {
  readonly person: string;
  readonly channel: string;
}

export interface Job extends Target {
  readonly notice: Notice;
  /** Milliseconds from now: not before. */
  readonly inMs: number;
}

/** What a receiver did not take so far. */
export interface NotTaken {
  readonly waiting: number;
  /** Milliseconds since the oldest of it was queued. */
  readonly oldestMs: number;
  /** Why the newest of it failed. */
  readonly message: string;
}

/** Where notifications are that are still to be sent, and those that were. Changes are durable when a promise resolves. */
export interface NotificationRows {
  /** A row for each person, channel and notice. Asked for after `begin`. */
  readonly jobs: JobRows;
  /** False before anybody was ever to be notified. */
  exists(): Promise<boolean>;
  /** Does nothing where it was begun. Runs as they are when the queue is begun are no news. */
  begin(sizes: ReadonlyMap<string, number>): Promise<void>;
  /** Since when somebody is notified, in milliseconds since 1970: from the first call on. */
  since(person: string): Promise<number>;
  /** Bytes of each run's log as far as it was looked at. */
  seen(): Promise<ReadonlyMap<string, number>>;
  /**
   * Adds what is not there yet, behind what waits for its next attempt for the same target: a receiver that asked to be left alone is.
   * And that the runs were looked at; in one commit. @returns how many were added
   */
  add(jobs: readonly Job[], looked: ReadonlyMap<string, number>): Promise<number>;
  /** Whom something is due for now. */
  dueTargets(): Promise<readonly Target[]>;
  /** null where everything goes well. */
  notTaken(): Promise<NotTaken | null>;
  close(): Promise<void>;
}
