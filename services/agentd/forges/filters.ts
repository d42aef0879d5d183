import { Timestamp } from '#kit/decode.ts';
import { InvalidInput, TooLarge } from '#kit/errors.ts';
import type { Issue, IssueFilter } from '../ports/forge.ts';

/** Times, labels and sizes by which texts of a forge are selected and cut. */

/** RFC 3339 of an HTTP `Date` header; our own clock where a proxy removed it. */
export function forgeTime(date: string | null): string {
  const time = date === null ? Number.NaN : Date.parse(date);
  return new Date(Number.isNaN(time) ? Date.now() : time).toISOString();
}

/** Forges keep whole seconds: an event within the second of `time` counts as after it. */
export function wholeSecond(time: string): string {
  if (!Timestamp.is(time)) {
    throw new InvalidInput(
      'invalid_since',
      `since '${time}' must be an RFC 3339 date and time with Z or an offset, for example 2026-11-21T08:50:00Z`,
    );
  }
  const seconds = Math.floor(Date.parse(time) / 1000);
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** Forges filter by the last change; for "since", the time of creation counts. */
export function since(time: string | undefined): (entry: { created_at: string }) => boolean {
  if (time === undefined) return () => true;
  const from = Date.parse(wholeSecond(time));
  return ({ created_at }) => Date.parse(created_at) >= from;
}

export function hasLabel({ labels }: Pick<Issue, 'labels'>, { label }: IssueFilter): boolean {
  if (label === undefined) return true;
  const wanted = label.toLowerCase();
  return labels.some((given) => given.toLowerCase() === wanted);
}

/** Bytes of UTF-8. A planner could not read a larger text. */
export const bodyLimit = 1024 * 1024;

/** @throws TooLarge `issue_too_large` */
export function wholeBody(body: string, issue: string): string {
  const size = Buffer.byteLength(body);
  if (size <= bodyLimit) return body;
  throw new TooLarge(
    'issue_too_large',
    `the text of issue ${issue} has ${size} bytes; at most ${bodyLimit} are read`,
    { facts: { size, limit: bodyLimit }, hint: 'shorten the issue, or open one that links the long text' },
  );
}

/**
 * For lists, where one oversized text by a stranger must not hide all others: cut at the limit, with a note of that at the end.
 */
export function shortenedBody(body: string): string {
  if (Buffer.byteLength(body) <= bodyLimit) return body;
  const kept = Buffer.from(body)
    .subarray(0, bodyLimit)
    .toString('utf8')
    .replace(/\u{fffd}+$/u, '');
  return `${kept}\n\n[cut here: this text is longer than ${bodyLimit} bytes]`;
}
