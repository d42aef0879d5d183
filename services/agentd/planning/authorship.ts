import type { Account, Author } from './forge.ts';

/** Forges number their accounts, and people change their names; where a forge has no numbers, the name counts. */
export function isBy(author: Author, account: Account): boolean {
  return author.id === undefined ? author.login === account.login : author.id === account.id;
}
