import { type CoreError, Refused, Unavailable } from '#kit/errors.ts';
import { errorWords } from './chat-completion.ts';

const longestExcerpt = 500;

/** What a status other than 2xx means for planning. `redact` takes the credential out of the endpoint's words. */
export function endpointError(
  reply: { status: number; retryAfter: string | undefined; body: string },
  at: string,
  redact: (text: string) => string,
): CoreError {
  const words = errorWords(parsed(reply.body));
  const said = redact(excerpt(words?.message ?? ''));
  const message = `the model endpoint ${at} answered ${reply.status}${said === '' ? '' : `: ${said}`}`;
  const facts = { status: reply.status, code: words?.code ?? '' };
  if (reply.status === 429 && !/quota|billing|credit/i.test(words?.code ?? '')) {
    const retryAfter = secondsOf(reply.retryAfter);
    return new Unavailable('model_rate_limited', message, {
      facts,
      ...(retryAfter === null ? {} : { retryAfter }),
    });
  }
  const isForGood = facts.code === 'credential_unusable';
  if (!isForGood && (reply.status >= 500 || [408, 409, 425].includes(reply.status))) {
    const retryAfter = secondsOf(reply.retryAfter);
    return new Unavailable('model_unavailable', message, {
      facts,
      ...(retryAfter === null ? {} : { retryAfter }),
    });
  }
  return new Refused('model_refused', message, { facts });
}

/** Seconds of a Retry-After header, which is a number or a date (RFC 9110, 10.2.3). */
function secondsOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function excerpt(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return line.length > longestExcerpt ? `${line.slice(0, longestExcerpt)}…` : line;
}
