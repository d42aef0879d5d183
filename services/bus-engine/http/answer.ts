import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { CoreError, messageOf } from '#kit/errors.ts';
import { validateHeaderName, validateHeaderValue } from '#kit/http/node-http.ts';
import { problemHeaders } from '#kit/http/problem.ts';

/** What a function returned for a request, as far as it can be used. */
export interface FunctionAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const json = 'application/json; charset=utf-8';

/**
 * `{status_code?, headers?, body?}`. What else an object holds is not the body.
 * @throws CoreError (`http_answer_invalid`)
 */
export function answerOf(result: unknown): FunctionAnswer {
  const { status_code = 200, headers = {}, body = {} } = (result ?? {}) as Record<string, unknown>;
  const status = statusOf(status_code);
  const given = headersOf(headers);
  const type = Object.entries(given).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (typeof body === 'string' && type !== undefined && !/[/+]json\b/i.test(type))
    return { status, headers: given, body };
  const withType = type === undefined ? { 'Content-Type': json, ...given } : given;
  return { status, headers: withType, body: JSON.stringify(body) };
}

/** @throws CoreError (`http_answer_invalid`) */
export function statusOf(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599) return value as number;
  throw invalid(`status_code ${JSON.stringify(value)}: must be an integer from 200 to 599`);
}

/** An object, or a list of lines like `Name: value`. @throws CoreError (`http_answer_invalid`) */
export function headersOf(value: unknown): Record<string, string> {
  const pairs = Array.isArray(value)
    ? value.map((line) => String(line).split(/:\s*(.*)/s, 2))
    : Object.entries((value ?? {}) as Record<string, unknown>).map(([name, text]) => [name, String(text)]);
  for (const [name = '', text = ''] of pairs) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, text);
    } catch (error) {
      throw invalid(messageOf(error));
    }
    // What frames the answer is the server's.
    if (/^(connection|content-length|transfer-encoding|upgrade|keep-alive)$/i.test(name))
      throw invalid(`header ${name} is set by the engine`);
  }
  return Object.fromEntries(pairs);
}

function invalid(message: string): CoreError {
  return new CoreError('http_answer_invalid', message);
}

export function sendAnswer(response: ServerResponse, { status, headers, body }: FunctionAnswer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, headers);
  response.end(body);
}

/** An error in the form of the protocol. */
export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  more: { readonly headers?: Readonly<Record<string, string>>; readonly id?: string } = {},
): void {
  const error = { code, message, ...(more.id === undefined ? {} : { error_id: more.id }) };
  const headers = { 'Content-Type': json, ...more.headers };
  sendAnswer(response, { status, headers, body: JSON.stringify({ error }) });
}

/** @returns what names it in the log where it is a failure inside */
export function sendThrown(response: ServerResponse, error: unknown): string | null {
  if (error instanceof CoreError && error.status !== 500) {
    sendError(response, error.status, error.code, error.message, { headers: problemHeaders(error) });
    return null;
  }
  const id = randomUUID();
  const code = error instanceof CoreError ? error.code : 'internal';
  const message = error instanceof CoreError ? error.message : 'Something failed inside; the log tells more.';
  sendError(response, 500, code, message, { id });
  return id;
}
