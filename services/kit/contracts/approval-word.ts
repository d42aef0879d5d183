import type { risks } from './vocabulary.ts';

/**
 * What is of critical risk is approved by a word, wherever one press or one click would be enough otherwise: on the review page, in
 * the terminal interface and at the question of `core run`. The command `core approve` is typed in full and a request over HTTP names
 * each digest: neither happens by accident, and neither asks for the word.
 */
export const approvalWord = 'approve';

/** In any case, with space around it. */
export function isApprovalWord(answer: string): boolean {
  return answer.trim().toLowerCase() === approvalWord;
}

/** Those that need the word. */
export function criticalOf<A extends { readonly risk: (typeof risks)[number] }>(actions: readonly A[]): A[] {
  return actions.filter(({ risk }) => risk === 'critical');
}
