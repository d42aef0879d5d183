import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type * as t from 'io-ts';
import { decode } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Identity, Scope } from '../tokens/tokens.ts';

export interface RouteRequest<B = unknown> {
  readonly id: string;
  readonly params: Readonly<Record<string, string>>;
  /** Only the names that the route declares; none twice. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: B;
  readonly header: (name: string) => string | undefined;
  /** All of the request, as they came, for a handler that passes them on. */
  readonly headers: IncomingHttpHeaders;
  /** The query as it came, without its question mark. */
  readonly search: string;
  /** Who asks; null where the route is open and nobody said. */
  readonly identity: Identity | null;
  readonly log: Logger;
}

/** A JSON value, or text or bytes of `type`, whole or piece by piece. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly content?: { readonly type: string; readonly bytes: string | Uint8Array | AsyncIterable<string> };
}

export interface ServerSentEvent {
  readonly id?: string;
  readonly event?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** A live answer: `text/event-stream`, with a heartbeat, until `run` ends or the client or the server goes. */
export interface StreamReply {
  readonly stream: (sink: EventSink) => Promise<void>;
}

/** Sends the head of an answer: these headers beside those that every answer has. */
export type WriteHead = (status: number, headers: Readonly<Record<string, string>>) => void;

/**
 * An answer that its handler writes itself, for bytes that are passed through as they come. What `write` rejects with is answered
 * like every error as long as no head was sent; after that it ends the connection.
 */
export interface WrittenReply {
  readonly write: (response: ServerResponse, writeHead: WriteHead) => Promise<void>;
}

export interface EventSink {
  readonly signal: AbortSignal;
  /** Resolves when the client keeps up. */
  send(event: ServerSentEvent): Promise<void>;
}

export interface ParameterDescription {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Whether a request without it is refused. */
  readonly required?: boolean;
}

export interface AnswerDescription {
  readonly description: string;
  /** Codec of a JSON answer, or the name of another media type. */
  readonly content?: t.Mixed | string;
}

/** Where a token may stand beside `authorization`, because clients of an interface send it there. */
export interface TokenPlaces {
  /** Names of headers, in lower case. */
  readonly headers?: readonly string[];
  /** Name of a query parameter. */
  readonly query?: string;
}

export interface RouteFacts {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  /** As OpenAPI writes it: `/v1/runs/{run_id}`. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** `read` is open where the installation leaves reading open; null is open always. */
  readonly scope: Scope | null;
  readonly tokenIn?: TokenPlaces;
  /** Who asks, in place of the token of a request. A page knows people by a cookie. */
  readonly identify?: (headers: IncomingHttpHeaders) => Promise<Identity | null>;
  /** A page for browsers, which the description of the interface for programs leaves out. */
  readonly isPage?: boolean;
  readonly query?: Readonly<Record<string, ParameterDescription>>;
  readonly requestHeaders?: Readonly<Record<string, ParameterDescription>>;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Ignores query parameters that are not declared, in place of refusing them. */
  readonly anyQuery?: boolean;
  /** Answers with a lower status are logged at debug; by default that depends on whether the route only reads. */
  readonly debugBelow?: number;
  /** Called with each error before it is answered. */
  readonly onError?: (error: unknown) => void;
  /** The answer to an error instead of a problem; null for the problem. @param request as far as it is known when anything can fail */
  readonly errorReply?: (error: unknown, request: FailedRequest) => Reply | null;
}

/** A request that was not answered as its route describes. */
export interface FailedRequest extends Pick<RouteRequest, 'id' | 'headers' | 'identity'> {
  /** As it was asked for. */
  readonly path: string;
}

export interface Route extends RouteFacts {
  readonly body: RouteBody;
  readonly handle: (request: RouteRequest) => Promise<Reply | StreamReply | WrittenReply>;
}

/**
 * What a route takes; `form` is that of a page, `bytes` is JSON as it came, which the handler decodes, and `upload` is text that it
 * reads piece by piece.
 */
export type RouteBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly codec: t.Mixed; readonly optional: boolean }
  | { readonly kind: 'form'; readonly codec: t.Mixed }
  | {
      readonly kind: 'bytes';
      readonly codec: t.Mixed;
      readonly limit: number;
      /** What the sender can do about a body that is not JSON. */
      readonly typeHint?: string | undefined;
    }
  | { readonly kind: 'upload'; readonly types: UploadTypes; readonly limit: number };

/** Media types; the first is the one to describe. */
export type UploadTypes = readonly [string, ...string[]];

type Handler<B, R> = (request: RouteRequest<B>) => Promise<R>;

/** A route without a body. */
export function route(facts: RouteFacts, handle: Handler<unknown, Reply | StreamReply>): Route {
  return { ...facts, body: { kind: 'none' }, handle };
}

/**
 * A route whose JSON body is decoded, unknown members refused, before its handler sees it. Where it is optional, a request without one
 * counts as `{}`.
 */
export function routeWithBody<B>(
  {
    body: codec,
    bodyOptional: optional = false,
    ...facts
  }: RouteFacts & { readonly body: t.Type<B, unknown, unknown>; readonly bodyOptional?: boolean },
  handle: Handler<B, Reply>,
): Route {
  return { ...facts, body: { kind: 'json', codec, optional }, handle: handle as Route['handle'] };
}

/** A route whose body is a form of a page. Every field is a text; one that comes several times is a list of them. */
export function routeWithForm<B>(
  { body: codec, ...facts }: RouteFacts & { readonly body: t.Type<B, unknown, unknown> },
  handle: Handler<B, Reply>,
): Route {
  return { ...facts, body: { kind: 'form', codec }, handle: handle as Route['handle'] };
}

/** A route whose handler gets the bytes of a JSON body as they came. @param facts with the codec for the description alone */
export function routeWithBytes(
  {
    body: codec,
    bodyLimit: limit,
    typeHint,
    ...facts
  }: RouteFacts & {
    readonly body: t.Mixed /** Bytes. */;
    readonly bodyLimit: number;
    readonly typeHint?: string;
  },
  handle: Handler<Buffer, Reply | WrittenReply>,
): Route {
  return { ...facts, body: { kind: 'bytes', codec, limit, typeHint }, handle: handle as Route['handle'] };
}

/** A route whose body comes in pieces of UTF-8 text. */
export function routeWithUpload(
  {
    upload,
    ...facts
  }: RouteFacts & { readonly upload: { readonly types: UploadTypes /** Bytes. */; readonly limit: number } },
  handle: Handler<AsyncIterable<string>, Reply>,
): Route {
  return { ...facts, body: { kind: 'upload', ...upload }, handle: handle as Route['handle'] };
}

/** The query parameters that the route declares; ones given twice are refused, and unknown ones unless the route ignores them. */
export function declaredQuery(query: Record<string, unknown>, route: Route): Record<string, string> {
  const known = Object.keys(route.query ?? {});
  const declared: Record<string, string> = {};
  for (const [name, value] of Object.entries(query)) {
    const broken = (detail: string) =>
      new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
        errors: [{ pointer: `/${name}`, detail }],
      });
    if (!known.includes(name) && route.anyQuery === true) continue;
    if (!known.includes(name))
      throw broken(`is not known here: must be one of ${known.join(', ') || 'none'}`);
    if (typeof value !== 'string') throw broken('is given twice: must be given once');
    declared[name] = value;
  }
  return declared;
}

/** A whole number of them. @throws InvalidInput (`invalid_query`) */
export function queryInteger(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value;
  throw invalidQuery(name, text, `an integer from ${min} to ${max}`);
}

export function invalidQuery(name: string, text: string | undefined, rule: string): InvalidInput {
  const detail = `is ${text === undefined ? 'missing' : JSON.stringify(text)}: must be ${rule}`;
  return new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
    errors: [{ pointer: `/${name}`, detail }],
  });
}

/** One of them. @throws InvalidInput (`invalid_query`) */
export function queryValue<A>(codec: t.Decoder<unknown, A>, text: string, name: string): A {
  try {
    return decode(codec, text, name, 'invalid_query');
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const detail = error.errors[0]?.detail ?? error.message;
    throw new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
      errors: [{ pointer: `/${name}`, detail }],
    });
  }
}
