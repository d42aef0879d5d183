import { maskSpans, secretSpans } from './find-secrets.ts';
import { proseRules } from './secret-rules.ts';

/** A text of at most `max` characters for a message. Masked before it is cut, as the beginning of a secret looks like none. */
export function cutText(text: string, max: number): string {
  const masked = maskSpans(text, secretSpans(text, proseRules));
  return masked.length > max ? `${masked.slice(0, max - 1)}…` : masked;
}
