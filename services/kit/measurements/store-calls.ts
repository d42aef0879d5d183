import { channel } from 'node:diagnostics_channel';

/** `failed` where the database did not do it; `rolled_back` where it answered with an error, or the work itself gave up. */
export type DatabaseOutcome = 'done' | 'rolled_back' | 'failed';

/** One that ended, its waiting for a connection included. */
export interface DatabaseCall {
  readonly pool: string;
  readonly operation: 'query' | 'transaction';
  readonly outcome: DatabaseOutcome;
  readonly seconds: number;
}

/** Connections of one purpose. */
export interface WatchedPool {
  readonly pool: string;
  readonly max: number;
  /** Open ones, of which `idleCount` are free. */
  readonly totalCount: number;
  readonly idleCount: number;
  /** Who waits for one. */
  readonly waitingCount: number;
  /** Whether notifications of other processes arrive; null while nothing is followed. */
  readonly notified: boolean | null;
}

/** Pools are opened where they are used, and measured where a service is: each process has both. */
export const openPools = new Set<WatchedPool>();
/** Carries each `DatabaseCall` to whoever measures. */
export const databaseCalls = channel('core.database.calls');

/** `absent` where there is no such object; `refused` where asking again does not help; `unavailable` where it may. */
export type ObjectOutcome = 'done' | 'absent' | 'refused' | 'unavailable';

/** One request to a bucket, until its answer begins; a repetition is one of its own. */
export interface ObjectRequest {
  readonly operation: 'get' | 'put' | 'delete';
  readonly outcome: ObjectOutcome;
  readonly seconds: number;
}

/** Carries each `ObjectRequest` to whoever measures. */
export const objectRequests = channel('core.objects.requests');
