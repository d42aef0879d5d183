import { InvalidInput } from '#kit/errors.ts';

/** RFC 3339 of an HTTP `Date` header; our own clock where a proxy removed it. */
export function forgeTime(date: string | number | null | undefined): string {
  const time = date === null || date === undefined ? Number.NaN : Date.parse(String(date));
  return new Date(Number.isNaN(time) ? Date.now() : time).toISOString();
}

/** Forges keep whole seconds: what happened within the second of `time` counts as after it. */
export function wholeSecond(time: string): string {
  const seconds = Math.floor(Date.parse(time) / 1000);
  if (Number.isNaN(seconds)) {
    throw new InvalidInput('invalid_since', `since '${time}' must be an RFC 3339 date and time`);
  }
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** Forges filter by the last change; what counts for "since" is when it was made. */
export function since(time: string | undefined): (entry: { created_at: string }) => boolean {
  if (time === undefined) return () => true;
  const from = Date.parse(wholeSecond(time));
  return ({ created_at }) => Date.parse(created_at) >= from;
}
