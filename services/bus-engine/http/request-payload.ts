import type { IncomingMessage } from 'node:http';
import { twice } from '#kit/decode.ts';
import { Interrupted, InvalidInput, TooLarge } from '#kit/errors.ts';
import { repeatedMember } from '#kit/repeated-member.ts';
import type { ChannelEnd } from '../channels/channels.ts';
import type { MatchedRoute } from './routes.ts';

export interface RequestPayload {
  readonly query_params: Readonly<Record<string, string>>;
  readonly path_params: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The pattern. */
  readonly path: string;
  readonly method: string;
  /** null for what is not JSON: `request_body` has the bytes. */
  readonly body: unknown;
  readonly trigger: { readonly type: 'http'; readonly path: string; readonly method: string };
  readonly request_body: ChannelEnd;
  readonly response: ChannelEnd;
}

export function payloadOf(
  request: IncomingMessage,
  { route, params }: MatchedRoute,
  bytes: Buffer,
  ends: Pick<RequestPayload, 'request_body' | 'response'>,
): RequestPayload {
  const { method, pattern } = route;
  return {
    query_params: queryOf(request.url ?? '/'),
    path_params: params,
    headers: headersOf(request),
    path: pattern,
    method,
    body: isJson(request) ? parsed(bytes) : null,
    trigger: { type: 'http', path: pattern, method },
    ...ends,
  };
}

/** The token is for the engine: a function that got it could ask in the name of who called it. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const { authorization: _token, cookie: _cookie, ...others } = headers;
  return Object.fromEntries(Object.entries(others).map(([name, value]) => [name, [value].flat().join(', ')]));
}

function queryOf(url: string): Record<string, string> {
  const at = url.indexOf('?');
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)));
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}

/** @throws InvalidInput (`invalid_json`) for a member that is there twice; what is no JSON at all is for the function to judge */
function parsed(bytes: Buffer): unknown {
  const text = bytes.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const repeated = repeatedMember(text);
  if (repeated === null) return value;
  throw new InvalidInput('invalid_json', `the body: ${twice(repeated)}`);
}

/** @throws TooLarge (`body_too_large`), Interrupted (`client_gone`) */
export async function bodyOf(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new Interrupted('client_gone', 'the client went away while it sent its body', { cause });
  }
  if (size > limit) throw tooLarge(limit);
  return Buffer.concat(chunks);
}

function tooLarge(limit: number): TooLarge {
  return new TooLarge('body_too_large', `the body has more than ${limit} bytes, the limit`);
}
