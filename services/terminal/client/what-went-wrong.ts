import { CoreError, codeOf, messageOf, Unavailable } from '#kit/errors.ts';

/** One line: what, and what to do. */
export function whatWentWrong(error: unknown): string {
  if (codeOf(error) === 'digest_mismatch') {
    return 'The action changed while it was on the screen and was not approved. Read it again';
  }
  if (codeOf(error) === 'decision_changed') return `Somebody was first: ${messageOf(error)}`;
  if (error instanceof Unavailable && codeOf(error) === 'http_unavailable') {
    return 'core-agentd did not answer; when it does again, the page shows whether it was done';
  }
  const hint = error instanceof CoreError && error.hint !== undefined ? `. ${error.hint}` : '';
  return `${messageOf(error)}${hint}`.replaceAll(/:?\n/g, '; ');
}
