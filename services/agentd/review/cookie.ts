import type { IncomingHttpHeaders } from 'node:http';
import type { ReviewParts } from './review-parts.ts';

/** Cookies of a host hold for all of its ports, so that the name says which daemon it is of. */
function nameOf(of: CookieOf, { port }: ReviewParts['binding']): string {
  return `core_review_${of === 'link' ? 'link_' : ''}${port}`;
}

/** Of the session, or of a link that the browser opened and has not used yet. */
export type CookieOf = 'session' | 'link';

/** The text that a browser sent; null without one. */
export function cookieText(
  of: CookieOf,
  headers: IncomingHttpHeaders,
  binding: ReviewParts['binding'],
): string | null {
  const name = nameOf(of, binding);
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=');
    if (key === name && value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return null;
}

/** @param text null takes the cookie away */
export function setCookie(
  of: CookieOf,
  text: string | null,
  headers: IncomingHttpHeaders,
  binding: ReviewParts['binding'],
): string {
  const secure = binding.tls !== null || (binding.behind_proxy && headers['x-forwarded-proto'] === 'https');
  return [
    `${nameOf(of, binding)}=${text ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    ...(secure ? ['Secure'] : []),
    ...(text === null ? ['Max-Age=0'] : []),
  ].join('; ');
}
