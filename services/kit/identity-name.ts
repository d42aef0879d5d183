/**
 * Names of tokens, and of accounts: `mira@example.org#3fa9c1d2e4b5a6f7`. What stands before an account's mark is for people and may
 * change; the mark is made of issuer and subject. No token can have such a name.
 */

/** Digits of the mark; 64 bits. */
export const markLength = 16;
const marked = new RegExp(`^.+(#[0-9a-f]{${markLength}})$`, 's');

/** Two names with the same key are of one account or one token. */
export function identityKey(name: string): string {
  return marked.exec(name)?.[1] ?? name;
}

/** The name without its mark, for where nothing is decided by it. */
export function shownName(name: string): string {
  return identityKey(name) === name ? name : name.slice(0, -1 - markLength);
}

/** For sentences: `the token 'mira'`, or the name of an account. */
export function whose(name: string): string {
  return identityKey(name) === name ? `the token '${name}'` : name;
}
