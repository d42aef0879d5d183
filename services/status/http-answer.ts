import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { codeOf, messageOf } from '#kit/errors.ts';

/** What came back, or why nothing did. */
export type HttpAnswer =
  | { readonly status: number; readonly text: string }
  | { readonly status: null; readonly why: 'nobody' | 'silent' | 'broken'; readonly message: string };

export interface HttpQuestion {
  readonly method?: 'GET' | 'POST';
  readonly token?: string | null;
  readonly body?: unknown;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** PEM of the certificate to trust; null or absent: those that the system trusts. */
  readonly ca?: string | null;
}

/** Bytes of an answer that are read. */
const mostBytes = 4 * 1024 * 1024;

/** One HTTP exchange by Node's own client, which is there at once; never throws. */
export function httpAnswer(url: string, question: HttpQuestion): Promise<HttpAnswer> {
  const { method = 'GET', token = null, body, timeoutMs, signal, ca = null } = question;
  const text = body === undefined ? null : JSON.stringify(body);
  const limits = [AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])];
  const limit = AbortSignal.any(limits);
  return new Promise((resolve) => {
    const { protocol, host } = new URL(url);
    const request = (protocol === 'https:' ? tlsRequest : plainRequest)(url, {
      method,
      agent: false,
      signal: limit,
      ...(ca === null ? {} : { ca }),
      headers: {
        accept: 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(text === null
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
    });
    let connected = false;
    const fail = (error: unknown): void => {
      if (limit.aborted) {
        const what = connected ? 'accepts connections but does not answer' : 'accepts no connection';
        resolve({ status: null, why: 'silent', message: `${host} ${what} within ${timeoutMs / 1000} s` });
        return;
      }
      const nobody = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].includes(codeOf(error));
      const message = nobody
        ? `nobody answers at ${host} (${codeOf(error)})`
        : `${host}: ${messageOf(error)}`;
      resolve({ status: null, why: nobody ? 'nobody' : 'broken', message });
    };
    request.once('socket', (socket) => {
      socket.once('connect', () => {
        connected = true;
      });
    });
    request.on('error', fail);
    request.once('response', (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (part: Buffer) => {
        size += part.length;
        if (size <= mostBytes) parts.push(part);
        else request.destroy(new Error(`the answer has more than ${mostBytes} bytes`));
      });
      response.on('error', fail);
      response.once('end', () =>
        resolve({ status: response.statusCode!, text: Buffer.concat(parts).toString('utf8') }),
      );
    });
    request.end(text ?? undefined);
  });
}

/** What an answer that refuses says of the reason; empty where it says none. */
export function problemIn(text: string): string {
  try {
    return String((JSON.parse(text) as { readonly detail?: unknown }).detail ?? '');
  } catch {
    return '';
  }
}
