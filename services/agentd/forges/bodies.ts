import { TooLarge } from '#kit/errors.ts';

/** Bytes of UTF-8. Larger texts are no issue that a planner could read. */
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
 * For lists, where one oversized text by a stranger must not hide all others: cut at the limit, and the cut is told
 * in the text itself.
 */
export function shortenedBody(body: string): string {
  if (Buffer.byteLength(body) <= bodyLimit) return body;
  const kept = Buffer.from(body)
    .subarray(0, bodyLimit)
    .toString('utf8')
    .replace(/\u{fffd}+$/u, '');
  return `${kept}\n\n[cut here: this text is longer than ${bodyLimit} bytes]`;
}
