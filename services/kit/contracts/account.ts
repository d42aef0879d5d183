import * as t from 'io-ts';
import { NonEmptyString } from '../decode.ts';
import { sha256 } from '../digest.ts';
import { identityKey, markLength } from '../identity-name.ts';

/** Somebody at an identity provider. The subject is never given to anybody else there; a name or an address may be. */
export const Account = t.strict({ issuer: NonEmptyString, subject: NonEmptyString });
export type Account = t.TypeOf<typeof Account>;

/** What Core calls an account, with the mark of its issuer and subject. */
export function accountName(account: Account, shown: string): string {
  return `${shown}${markOf(account)}`;
}

function markOf({ issuer, subject }: Account): string {
  return `#${sha256(JSON.stringify([issuer, subject])).slice(0, markLength)}`;
}

export function isOf(account: Account, name: string): boolean {
  return identityKey(name) === markOf(account);
}

export function isAmong({ issuer, subject }: Account, accounts: readonly Account[]): boolean {
  return accounts.some((one) => one.issuer === issuer && one.subject === subject);
}
