import type { IncomingHttpHeaders } from 'node:http';
import type { ReviewParts } from './review-parts.ts';

/**
 * `session`: of who is signed in. `link`: of a link that the browser opened and has not used yet. `provider`: of sign-ins under way at
 * the identity provider, from whose site the browser comes back; a cookie that is `Strict` would not be sent then.
 */
const cookies = {
  session: { word: '', sameSite: 'Strict', maxAge: null },
  link: { word: 'link_', sameSite: 'Strict', maxAge: null },
  provider: { word: 'provider_', sameSite: 'Lax', maxAge: 600 },
} as const;
export type CookieOf = keyof typeof cookies;

/**
 * Cookies of a host hold for all of its ports, so that the name says which daemon it is of. Over TLS browsers take one of such a name
 * from this host alone, and none that a neighbour of its domain would set.
 */
function nameOf(of: CookieOf, headers: IncomingHttpHeaders, binding: ReviewParts['binding']): string {
  const prefix = isSecure(headers, binding) ? '__Host-' : '';
  return `${prefix}core_review_${cookies[of].word}${binding.port}`;
}

function isSecure(headers: IncomingHttpHeaders, { tls, behind_proxy }: ReviewParts['binding']): boolean {
  return tls !== null || (behind_proxy && headers['x-forwarded-proto'] === 'https');
}

/** The text that a browser sent; null without one. */
export function cookieText(
  of: CookieOf,
  headers: IncomingHttpHeaders,
  binding: ReviewParts['binding'],
): string | null {
  const name = nameOf(of, headers, binding);
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=');
    if (key === name && value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return null;
}

/** @param text null takes the cookie away @param seconds that the browser keeps it, also when it is closed; by default as its kind says */
export function setCookie(
  of: CookieOf,
  text: string | null,
  headers: IncomingHttpHeaders,
  binding: ReviewParts['binding'],
  seconds: number | null = cookies[of].maxAge,
): string {
  const { sameSite } = cookies[of];
  const age = text === null ? 0 : seconds;
  return [
    `${nameOf(of, headers, binding)}=${text ?? ''}`,
    'Path=/',
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isSecure(headers, binding) ? ['Secure'] : []),
    ...(age === null ? [] : [`Max-Age=${age}`]),
  ].join('; ');
}
