import * as t from 'io-ts';
import { NonEmptyString } from '../decode.ts';
import { sha256 } from '../digest.ts';

/** Somebody at an identity provider. The subject is never given to anybody else there; a name or an address may be. */
export const Account = t.strict({ issuer: NonEmptyString, subject: NonEmptyString });
export type Account = t.TypeOf<typeof Account>;

/** Digits of the mark; 64 bits. */
const markLength = 16;
const marked = new RegExp(`^.+(#[0-9a-f]{${markLength}})$`, 's');

/**
 * What Core calls an account: `mira@example.org#3fa9c1d2e4b5a6f7`. What stands before the mark is for people and may change; the mark
 * is made of issuer and subject. No token can have such a name.
 */
export function accountName(account: Account, shown: string): string {
  return `${shown}${markOf(account)}`;
}

function markOf({ issuer, subject }: Account): string {
  return `#${sha256(JSON.stringify([issuer, subject])).slice(0, markLength)}`;
}

/** Two names with the same key are of one account or one token. */
export function identityKey(name: string): string {
  return marked.exec(name)?.[1] ?? name;
}

export function isOf(account: Account, name: string): boolean {
  return identityKey(name) === markOf(account);
}

export function isAmong({ issuer, subject }: Account, accounts: readonly Account[]): boolean {
  return accounts.some((one) => one.issuer === issuer && one.subject === subject);
}

/** The name without its mark, for where nothing is decided by it. */
export function shownName(name: string): string {
  return identityKey(name) === name ? name : name.slice(0, -1 - markLength);
}

/** For sentences: `the token 'mira'`, or the name of an account. */
export function whose(name: string): string {
  return identityKey(name) === name ? `the token '${name}'` : name;
}
