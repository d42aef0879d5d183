import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '#kit/is-object.ts';
import { mapTexts } from '#kit/map-texts.ts';
import {
  type OpenAiError,
  type OwnWords,
  ownFailure,
  retryAfterOf,
  typeOf,
  UpstreamFailure,
} from './failure.ts';
import { type Mask, withoutSecrets } from './mask.ts';

const maxMessage = 2_000;

/** Of an upstream's answer, as a failure is made of it. */
interface Refused {
  readonly upstream: string;
  readonly mask: Mask;
  /** The beginning of the answer's body, or the data of an event, masked. */
  readonly body: string;
  /** The dialect that the upstream speaks, and what a client may see of its headers. */
  readonly own: Omit<OwnWords, 'body'> | null;
}

/** The failure that an answer with a status of 300 and more stands for. */
export function upstreamError(
  status: number,
  headers: IncomingHttpHeaders,
  refused: Refused,
): UpstreamFailure {
  const { upstream, body, mask } = refused;
  if (status < 400) return redirected(upstream, status);
  return new UpstreamFailure({
    // What is no status of HTTP could not be given on.
    status: status > 599 ? 502 : status,
    error: errorIn(upstream, status, body, mask),
    retryAfterMs: retryAfterOf(single(headers['retry-after'])),
    own: ownWordsIn(refused),
  });
}

/** The failure that the first event of a stream with status 200 reports. */
export function errorInStream(status: number, refused: Refused): UpstreamFailure {
  const error = errorIn(refused.upstream, status, refused.body, refused.mask);
  return new UpstreamFailure({ status, error, charged: true, own: ownWordsIn(refused) });
}

/** What stands in front of a client as it came has to be an object with an `error`, as every dialect's is. */
function ownWordsIn({ body, mask, own }: Refused): OwnWords | undefined {
  if (own === null) return undefined;
  const value = parsed(body);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(first) || !isObject(first.error)) return undefined;
  return { ...own, body: mapTexts(first, (text) => withoutSecrets(text, mask)) };
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
