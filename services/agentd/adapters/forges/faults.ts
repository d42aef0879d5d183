import { type CoreError, NotFound, Refused, Unauthorized, Unavailable } from '#kit/errors.ts';

export interface FailedCall {
  readonly forge: string;
  readonly method: string;
  /** What was wanted, for people: `issue demo/hello#1`. */
  readonly what: string;
  readonly status: number;
  readonly header: (name: string) => string | null;
  /** The forge's own words. */
  readonly words: string;
  readonly token_file: string | null;
}

/** What an answer of 300 and above means; the same for every forge that speaks HTTP. */
export function faultOf(call: FailedCall): CoreError {
  const { forge, method, what, status } = call;
  const words = plain(call.words);
  const said = words === '' ? `status ${status}` : words;
  const facts = { forge, method, status };
  const wait = retryAfter(call);
  if (isRateLimit(call)) {
    const seconds = wait ?? 60;
    return new Unavailable(
      'forge_rate_limited',
      `forge '${forge}' limits our requests; it can be asked again in ${seconds} s: ${said}`,
      { facts, retryAfter: seconds },
    );
  }
  if (status >= 500 || status === 408) {
    const unknown = method === 'GET' ? '' : '; whether it did what was asked is not known';
    return new Unavailable('forge_unavailable', `forge '${forge}' failed with ${status}${unknown}: ${said}`, {
      facts,
      ...(wait === null ? {} : { retryAfter: wait }),
    });
  }
  if (status === 404) return new NotFound('forge_not_found', `forge '${forge}' has no ${what}`, { facts });
  if (status === 401 || (status === 403 && method === 'GET')) {
    return new Unauthorized('forge_unauthorized', `forge '${forge}' does not show us ${what}: ${said}`, {
      facts,
      hint:
        call.token_file === null
          ? 'name a token_file for it in config/forges.json'
          : `check the token in ${call.token_file} and its rights`,
    });
  }
  if (status < 400) {
    return new Refused('forge_redirected', `forge '${forge}' says that ${what} is elsewhere (${status})`, {
      facts,
      hint: 'the repository was renamed; plan again with its new name',
    });
  }
  return new Refused('forge_refused', `forge '${forge}' refuses ${what}: ${said}`, { facts });
}

function isRateLimit(call: FailedCall): boolean {
  if (call.status === 429) return true;
  if (call.status !== 403) return false;
  return (
    call.header('x-ratelimit-remaining') === '0' ||
    call.header('retry-after') !== null ||
    /\brate limit/i.test(call.words)
  );
}

/** Seconds, by `Retry-After` (RFC 9110, seconds or a date), else by the reset time of GitHub's and Gitea's headers. */
function retryAfter({ header }: FailedCall): number | null {
  const after = header('retry-after');
  if (after !== null && /^\d+$/.test(after)) return Number(after);
  if (after !== null && !Number.isNaN(Date.parse(after))) return secondsUntil(Date.parse(after));
  const reset = header('x-ratelimit-reset');
  if (header('x-ratelimit-remaining') === '0' && reset !== null && /^\d+$/.test(reset)) {
    return secondsUntil(Number(reset) * 1000);
  }
  return null;
}

function secondsUntil(time: number): number {
  return Math.max(1, Math.ceil((time - Date.now()) / 1000));
}

/** Words of a stranger for a terminal and a log: one line, no control characters, not too long. */
function plain(words: string): string {
  return words
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, 300);
}
