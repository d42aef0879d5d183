import type { IncomingHttpHeaders } from 'node:http';
import type { Mask } from '../mask.ts';

const allowed = new Set([
  'content-type',
  'retry-after',
  'x-request-id',
  'openai-processing-ms',
  'openai-model',
  'openai-version',
]);

/** A name could hold anything, so only those that upstreams are known to use. */
const rateLimit =
  /^x-ratelimit-(?:limit|remaining|reset)(?:-(?:requests|tokens|input-tokens|output-tokens|project-tokens|images))?(?:-(?:second|minute|hour|day|month))?$/;

/** Whether a client may see it, under the name that it has for the upstream or for the client. */
export function isAnswerHeader(name: string): boolean {
  return allowed.has(name) || name === 'x-upstream-request-id' || rateLimit.test(name);
}

/** What a client may see of an upstream's headers. Names that are not listed here stay here, those of the connection first. */
export function answerHeaders(headers: IncomingHttpHeaders, mask: Mask): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name in headers) {
    if (name === 'x-upstream-request-id' || !isAnswerHeader(name)) continue;
    const value = headers[name];
    const text = mask.hide(Array.isArray(value) ? value.join(', ') : (value ?? ''));
    if (/^[\t\x20-\x7e]*$/.test(text)) given[name === 'x-request-id' ? 'x-upstream-request-id' : name] = text;
  }
  return given;
}

/** The media type alone, masked and then in lower case, which no credential would be found in. */
export function mediaTypeOf(headers: IncomingHttpHeaders, mask: Mask): string {
  return mask
    .hide(headers['content-type'] ?? '')
    .split(';', 1)[0]!
    .trim()
    .toLowerCase();
}
