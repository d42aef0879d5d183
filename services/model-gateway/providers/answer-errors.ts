import type { IncomingHttpHeaders } from 'node:http';
import { type OpenAiError, ownFailure, retryAfterOf, typeOf, UpstreamFailure } from '../failure.ts';
import { type Mask, withoutSecrets } from '../mask.ts';
import { isObject } from '../usage.ts';

const maxMessage = 2_000;

/**
 * The failure that an answer with a status of 300 and more stands for.
 * @param body the beginning of the answer's body, masked
 */
export function upstreamError(
  upstream: string,
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
  mask: Mask,
): UpstreamFailure {
  if (status < 400) return redirected(upstream, status);
  const retryAfterMs = retryAfterOf(single(headers['retry-after']));
  const error = errorIn(upstream, status, body, mask);
  // What is no status of HTTP could not be given on.
  return new UpstreamFailure({ status: status > 599 ? 502 : status, error, retryAfterMs });
}

/** The failure that the first event of a stream with status 200 reports. @param event its data, masked */
export function errorInStream(upstream: string, event: string, mask: Mask): UpstreamFailure {
  const { error } = parsed(event) as { error?: { code?: unknown; status?: unknown } };
  const reported = [error?.code, error?.status].map(Number).find((code) => code >= 400 && code <= 599);
  const status = reported ?? 502;
  return new UpstreamFailure({ status, error: errorIn(upstream, status, event, mask), charged: true });
}

export function redirected(upstream: string, status: number): UpstreamFailure {
  const message = `upstream ${upstream} answered ${status}, a redirect; they are not followed, as credentials would go along`;
  return ownFailure(502, 'upstream_redirected', message, { remedy: 'next' });
}

/**
 * OpenAI's `{error: {…}}`, Ollama's `{error: "…"}`, Gemini's list of one, FastAPI's `{detail: …}`, `{message: …}`, or text.
 * Masked once more, because parsing undoes escapes.
 */
export function errorIn(upstream: string, status: number, body: string, mask: Mask): OpenAiError {
  const { message, type, param, code } = wordsIn(upstream, status, body, mask);
  const hide = (text: string) => withoutSecrets(text, mask).slice(0, 200);
  return {
    message: cut(withoutSecrets(message, mask), maxMessage),
    type: hide(type),
    param: param === null ? null : hide(param),
    code: code === null ? null : hide(code),
  };
}

function wordsIn(upstream: string, status: number, body: string, mask: Mask): OpenAiError {
  const all = body.trim();
  const value = parsed(all);
  const first = Array.isArray(value) ? value[0] : value;
  const said = isObject(first) ? (first.error ?? first.detail ?? first.message) : null;
  const fallback = `upstream ${upstream} answered ${status}`;
  if (isObject(said)) {
    return {
      message: typeof said.message === 'string' ? said.message : fallback,
      type: text(said.type) ?? typeOf(status),
      param: text(said.param),
      code: text(said.code) ?? text(said.status),
    };
  }
  const plain =
    typeof said === 'string'
      ? said
      : said != null
        ? JSON.stringify(said)
        : plainText(withoutSecrets(all, mask));
  return {
    message: plain === '' ? fallback : `${fallback}: ${plain}`,
    type: typeOf(status),
    param: null,
    code: null,
  };
}

/** A page for people says little more than its title. */
function plainText(text: string): string {
  if (!/^\s*</.test(text)) return text.slice(0, 300);
  return /<title>([^<]{1,200})<\/title>/i.exec(text)?.[1]?.trim() ?? '';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function text(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : null;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

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
