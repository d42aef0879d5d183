import { type CoreError, NotFound, RateLimited, Refused, Unauthorized, Unavailable } from '#kit/errors.ts';
import { httpDate, retryAfterSeconds } from '#kit/http/retry-after.ts';

export interface FailedCall {
  readonly forge: string;
  readonly method: string;
  /** The thing that was asked for: `issue demo/hello#1`. */
  readonly what: string;
  readonly status: number;
  /** Of the answer, after redirects. */
  readonly url: string;
  readonly header: (name: string) => string | null;
  /** The forge's own words. */
  readonly words: string;
  readonly token_file: string | null;
  /** Scopes that the token lacks, by the forge's word; null where it names none. */
  readonly lacking_scopes: string | null;
}

/** What an answer of 300 and above means; the same for every forge that speaks HTTP. */
export function faultOf(call: FailedCall): CoreError {
  const { forge, method, what, status } = call;
  const words = plain(call.words);
  const said = words === '' ? `status ${status}` : words;
  const facts = { forge, method, status, url: call.url };
  const wait = retryAfter(call);
  if (isRateLimit(call)) {
    const seconds = wait ?? 60;
    return new RateLimited(
      'forge_rate_limited',
      `forge '${forge}' limits our requests; it can be asked again in ${seconds} s: ${said}`,
      { facts, retryAfter: seconds },
    );
  }
  if (status >= 500 || status === 408) {
    const unknown = method === 'GET' ? '' : '; whether it did what was asked is not known';
    const why = words === '' ? '' : `: ${words}`;
    return new Unavailable('forge_unavailable', `forge '${forge}' failed with ${status}${unknown}${why}`, {
      facts,
      ...(wait === null ? {} : { retryAfter: wait }),
    });
  }
  if (status === 404) return new NotFound('forge_not_found', `forge '${forge}' has no ${what}`, { facts });
  if (status === 401 || (status === 403 && method === 'GET')) {
    const message = `forge '${forge}' does not show us ${what}: ${said}; ${aboutToken(call)}`;
    return new Unauthorized('forge_unauthorized', message, { facts });
  }
  if (status < 400) {
    return new Refused('forge_redirected', `forge '${forge}' says that ${what} is elsewhere (${status})`, {
      facts,
      hint: 'the repository was renamed; plan again with its new name',
    });
  }
  const token = status === 403 ? `; ${aboutToken(call)}` : '';
  return new Refused('forge_refused', `forge '${forge}' refuses ${what}: ${said}${token}`, { facts });
}

function aboutToken({ token_file, status, lacking_scopes }: FailedCall): string {
  if (token_file === null) return 'name a token_file for it in config/forges.json';
  if (lacking_scopes !== null)
    return `the token in ${token_file} lacks the scope ${lacking_scopes}: make one that has it`;
  if (status === 401)
    return `the token in ${token_file} is unknown to the forge, expired or revoked: make another`;
  return `check the token in ${token_file} and its rights`;
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

const maxWait_s = 86_400;

/** Seconds from 1 to a day, by `Retry-After`, else by the reset time of GitHub's and Gitea's headers; null where neither can be read. */
function retryAfter({ header }: FailedCall): number | null {
  // By the forge's own clock.
  const now = httpDate(header('date') ?? '') ?? Date.now();
  const reset = header('x-ratelimit-remaining') === '0' ? (header('x-ratelimit-reset') ?? '') : '';
  const untilReset = /^\d+$/.test(reset) ? Number(reset) - now / 1000 : null;
  const seconds = retryAfterSeconds(header('retry-after'), now) ?? untilReset;
  return seconds === null ? null : Math.min(maxWait_s, Math.max(1, Math.ceil(seconds)));
}

/** Words of a stranger for a terminal and a log: one line, no control characters, not too long. */
export function plain(words: string): string {
  return words
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, 300);
}
