import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { guarded } from '#kit/callbacks.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { validateHeaderName, validateHeaderValue } from '#kit/http/node-http.ts';
import { problemHeaders } from '#kit/http/problem.ts';
import type { Channel } from '../channels/channels.ts';

export type Headers = Readonly<Record<string, string | readonly string[]>>;

export interface FunctionAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Called with the reason when a header is not sent. */
export type PassedOver = (why: string) => void;

const json = 'application/json; charset=utf-8';

/**
 * `{status_code?, headers?, body?}`. What else an object holds is not the body; a text with a type of its own is sent as it is.
 * @throws CoreError (`http_answer_invalid`)
 */
export function answerOf(result: unknown, passedOver: PassedOver): FunctionAnswer {
  const { status_code = 200, headers = {}, body = {} } = (result ?? {}) as Record<string, unknown>;
  const status = statusOf(status_code);
  const given = headersOf(headers, passedOver);
  const hasType = Object.hasOwn(given, 'content-type');
  if (typeof body === 'string' && hasType) return { status, headers: given, body };
  return {
    status,
    headers: hasType ? given : { 'content-type': json, ...given },
    body: JSON.stringify(body),
  };
}

/** @throws CoreError (`http_answer_invalid`) */
export function statusOf(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599) return value as number;
  throw invalid(`status_code ${JSON.stringify(value)}: must be an integer from 200 to 599`);
}

const framing = /^(connection|content-length|transfer-encoding|trailer|te|upgrade|keep-alive)$/;

/**
 * An object, or a list of lines like `Name: value`; names in lower case. What is said more than once is sent so often, and what
 * cannot be sent does not keep the others from it.
 */
export function headersOf(value: unknown, passedOver: PassedOver): Headers {
  const headers = new Map<string, string[]>();
  for (const [given, text] of linesOf(value)) {
    const name = given.toLowerCase();
    try {
      validateHeaderName(name);
      validateHeaderValue(name, text);
    } catch (error) {
      passedOver(messageOf(error));
      continue;
    }
    if (framing.test(name)) passedOver(`${name} is set by the engine`);
    else headers.set(name, [...(headers.get(name) ?? []), text]);
  }
  return Object.fromEntries(
    [...headers].map(([name, texts]) => [name, texts.length === 1 ? texts[0]! : texts]),
  );
}

function linesOf(value: unknown): [name: string, text: string][] {
  if (Array.isArray(value))
    return value.map((line) => {
      const [name = '', text = ''] = String(line).split(/:\s*(.*)/s, 2);
      return [name, text];
    });
  const members = Object.entries((value ?? {}) as Record<string, unknown>);
  return members.flatMap(([name, given]) =>
    [given]
      .flat()
      .filter((one) => ['string', 'number', 'boolean'].includes(typeof one))
      .map((one): [string, string] => [name, String(one)]),
  );
}

function invalid(message: string): CoreError {
  return new CoreError('http_answer_invalid', message);
}

export function sendAnswer(response: ServerResponse, { status, headers, body }: FunctionAnswer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, headers as OutgoingHttpHeaders);
  response.end(body);
}

export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  more: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly id?: string;
    /** Members beside `error`. */
    readonly beside?: object;
  } = {},
): void {
  const error = { code, message, ...(more.id === undefined ? {} : { error_id: more.id }) };
  const headers = { 'Content-Type': json, ...more.headers };
  sendAnswer(response, { status, headers, body: JSON.stringify({ error, ...more.beside }) });
}

/** @returns the id under which to log a failure of the engine's own; null for an error meant for the client */
export function sendThrown(response: ServerResponse, error: unknown): string | null {
  if (error instanceof CoreError && error.status !== 500) {
    sendError(response, error.status, error.code, error.message, { headers: problemHeaders(error) });
    return null;
  }
  const id = randomUUID();
  const code = error instanceof CoreError ? error.code : 'internal';
  const message =
    error instanceof CoreError ? error.message : 'Something failed inside the engine; its log says what.';
  sendError(response, 500, code, message, { id });
  return id;
}

/**
 * An answer that a function writes piece by piece: text items set the status and headers, bytes are the body.
 * @param watch.done called when the function has written everything
 */
export async function answerFrom(
  channel: Channel,
  response: ServerResponse,
  { passedOver, done: written }: { readonly passedOver: PassedOver; readonly done: () => void },
): Promise<void> {
  let status = 200;
  let headers: Headers = {};

  function begin(): void {
    if (!response.headersSent) response.writeHead(status, headers as OutgoingHttpHeaders);
  }

  function control(text: string): void {
    try {
      const message = messageIn(text);
      if (message?.type === 'set_status') status = statusOf(message.status_code);
      if (message?.type === 'set_headers')
        headers = { ...headers, ...headersOf(message.headers, passedOver) };
    } catch (error) {
      passedOver(messageOf(error));
    }
  }

  const reader = channel.read()!;
  response.on(
    'close',
    guarded('an answer of a function', () => reader.cancel()),
  );
  for (;;) {
    const { done, value } = await reader.read();
    if (response.writableEnded || response.destroyed) return;
    if (done) break;
    if (typeof value === 'string') control(value);
    else {
      begin();
      await new Promise<void>((taken) => response.write(value, () => taken()));
    }
  }
  if (!channel.hasWriter) return;
  begin();
  response.end();
  written();
}

function messageIn(text: string): Record<string, unknown> | null {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' ? (message as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
