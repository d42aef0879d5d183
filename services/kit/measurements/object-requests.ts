import { channel } from 'node:diagnostics_channel';

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
