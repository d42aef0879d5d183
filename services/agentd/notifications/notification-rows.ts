import type { JobRows } from '#kit/jobs/durable-queue.ts';
import type { RunChanges } from '../runs/run-store.ts';
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

/** Bytes of the log of each run that was looked at, and the position before which nothing else changed. */
export type Looked = Pick<RunChanges, 'sizes' | 'position'>;

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
  begin(changes: RunChanges): Promise<void>;
  /** Since when somebody is notified, in milliseconds since 1970: from the first call on. */
  since(person: string): Promise<number>;
  /** Since when changes of runs are to be looked at; null where everything is. */
  position(): Promise<string | null>;
  /** Those whose log was not looked at as it is now. @param sizes bytes of each run's log */
  unseen(sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>;
  /**
   * Adds what is not there yet, behind what waits for its next attempt for the same target: a receiver that asked to be left alone is.
   * And that the runs were looked at, and all others that changed before `position`; in one commit. @returns how many were added
   */
  add(jobs: readonly Job[], looked: Looked): Promise<number>;
  /** Whom something is due for now. */
  dueTargets(): Promise<readonly Target[]>;
  /** null where everything goes well. */
  notTaken(): Promise<NotTaken | null>;
  close(): Promise<void>;
}
