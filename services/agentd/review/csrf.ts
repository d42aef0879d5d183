import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '#kit/digest.ts';
import { Forbidden } from '#kit/errors.ts';
import { type Html, html } from './html.ts';

/** Every form of a session carries a text that other sites cannot know: made of the cookie, which scripts cannot read. */
export function csrfToken(session: string): string {
  return sha256(`core review form ${session}`);
}

/** @throws Forbidden (`csrf_token_wrong`) */
export function checkCsrf(session: string, given: string): void {
  const expected = Buffer.from(csrfToken(session));
  const found = Buffer.from(given);
  if (found.length === expected.length && timingSafeEqual(found, expected)) return;
  throw new Forbidden('csrf_token_wrong', 'this form is not of your session', {
    hint: 'Load the page again, and repeat what you did.',
  });
}

export function csrfField(token: string): Html {
  return html`<input type="hidden" name="csrf" value="${token}">`;
}
