import type * as t from 'io-ts';
import type { Logger } from '../log.ts';
import type { Identity, Scope } from '../tokens.ts';

export interface RouteRequest<B = unknown> {
  readonly id: string;
  readonly params: Readonly<Record<string, string>>;
  /** Only the names that the route declares; none twice. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: B;
  readonly header: (name: string) => string | undefined;
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

export interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** As OpenAPI writes it: `/v1/runs/{run_id}`. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** `read` is open where the installation leaves reading open; null is open always. */
  readonly scope: Scope | null;
  readonly query?: Readonly<Record<string, ParameterDescription>>;
  readonly requestHeaders?: Readonly<Record<string, ParameterDescription>>;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Asked so often that every microsecond counts: answered by direct-route.ts, and logged only where it fails. */
  readonly direct?: boolean;
}

export interface Route extends RouteFacts {
  readonly body: t.Mixed | null;
  /** A request without a body counts as `{}`. */
  readonly bodyOptional: boolean;
  readonly upload: UploadDescription | null;
  readonly handle: (request: RouteRequest) => Promise<Reply | StreamReply>;
}

/** A body that is read piece by piece instead of decoded as a whole. */
export interface UploadDescription {
  /** Media types; the first is the one to describe. */
  readonly types: readonly [string, ...string[]];
  /** Bytes. */
  readonly limit: number;
}

/** A route without a body. */
export function route(
  facts: RouteFacts,
  handle: (request: RouteRequest) => Promise<Reply | StreamReply>,
): Route {
  return { ...facts, body: null, bodyOptional: false, upload: null, handle };
}

/** A route whose JSON body is decoded, unknown members refused, before its handler sees it. */
export function routeWithBody<B>(
  facts: RouteFacts & { readonly body: t.Type<B, unknown, unknown>; readonly bodyOptional?: boolean },
  handle: (request: RouteRequest<B>) => Promise<Reply>,
): Route {
  return {
    ...facts,
    body: facts.body as t.Mixed,
    bodyOptional: facts.bodyOptional ?? false,
    upload: null,
    handle: (request) => handle(request as RouteRequest<B>),
  };
}

/** A route whose body comes in pieces of UTF-8 text. */
export function routeWithUpload(
  facts: RouteFacts & { readonly upload: UploadDescription },
  handle: (request: RouteRequest<AsyncIterable<string>>) => Promise<Reply>,
): Route {
  return {
    ...facts,
    body: null,
    bodyOptional: false,
    handle: (request) => handle(request as RouteRequest<AsyncIterable<string>>),
  };
}
