import { CoreError, Unauthorized } from '#kit/errors.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { dialects } from '../dialects/registry.ts';
import type { DialectName } from '../providers/endpoints.ts';
import { type OpenAiError, typeOf, UpstreamFailure } from '../providers/failure.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

interface ShownError extends Pick<ErrorAnswer, 'status' | 'headers'> {
  readonly error: OpenAiError;
}

const codes: Readonly<Record<string, string>> = {
  token_invalid: 'invalid_api_key',
  token_required: 'invalid_api_key',
};

/** Any error as a client of the dialect gets it: in the upstream's own words where it speaks the same. */
export function errorAnswer(
  dialect: DialectName,
  error: unknown,
  id: string,
  redactor: Redactor,
): ErrorAnswer {
  const { status, headers, error: shown } = shownError(error, id, redactor);
  const own = error instanceof UpstreamFailure && error.own?.dialect === dialect ? error.own : null;
  if (own === null) return { status, headers, body: dialects[dialect].errorBody(shown, status) };
  const { 'content-type': _, ...said } = own.headers ?? {};
  return { status, headers: { ...said, ...headers }, body: own.body };
}

/** In OpenAI's words. Texts that are not meant for clients stay inside. */
function shownError(error: unknown, id: string, redactor: Redactor): ShownError {
  if (error instanceof UpstreamFailure) {
    return { status: error.status, headers: waitHeader(error.retryAfterMs), error: error.openaiError };
  }
  const known = error instanceof CoreError ? error : null;
  const status = known?.status ?? 500;
  if (known === null || status === 500) {
    const message = `An error inside the gateway; its log has the details under ${id}.`;
    return {
      status: 500,
      headers: {},
      error: { message, type: 'server_error', param: null, code: 'internal' },
    };
  }
  const hint = known.hint === undefined ? '' : `. ${known.hint}`;
  return {
    status,
    headers: headersOf(known),
    error: {
      message: redactor.redact(`${known.message}${hint}`),
      type: known.code === 'insufficient_quota' ? known.code : typeOf(status),
      param: paramOf(known),
      code: codes[known.code] ?? known.code,
    },
  };
}

function headersOf(error: CoreError): Record<string, string> {
  if (error instanceof Unauthorized) return { 'www-authenticate': 'Bearer realm="core"' };
  const wait = waitHeader(error.retryAfter === undefined ? null : error.retryAfter * 1000);
  // OpenAI's clients ask again after every 429, and go by this; a budget is no passing trouble.
  return error.code === 'insufficient_quota' ? { ...wait, 'x-should-retry': 'false' } : wait;
}

function waitHeader(ms: number | null): Record<string, string> {
  return ms === null ? {} : { 'retry-after': String(Math.ceil(ms / 1000)) };
}

function paramOf(error: CoreError): string | null {
  return 'param' in error && typeof error.param === 'string' ? error.param : null;
}
