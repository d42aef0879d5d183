import type { IncomingHttpHeaders } from 'node:http';
import type { Mask } from './mask.ts';

const allowed = new Set([
  'content-type',
  'retry-after',
  'x-request-id',
  'openai-processing-ms',
  'openai-model',
  'openai-version',
]);

/** What a client may see of an upstream's headers. Names that are not listed here stay here, those of the connection first. */
export function answerHeaders(headers: IncomingHttpHeaders, mask: Mask): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name in headers) {
    if (!allowed.has(name) && !name.startsWith('x-ratelimit-')) continue;
    const value = headers[name];
    const text = mask.hide(Array.isArray(value) ? value.join(', ') : (value ?? ''));
    if (/^[\t\x20-\x7e]*$/.test(text)) given[name === 'x-request-id' ? 'x-upstream-request-id' : name] = text;
  }
  return given;
}

/** The media type alone, in lower case. */
export function mediaTypeOf(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}
