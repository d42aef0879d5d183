import * as t from 'io-ts';
import { Account, accountName } from '#kit/contracts/account.ts';
import { Sha256 } from '#kit/decode.ts';
import { identityKey } from '#kit/identity-name.ts';

/** A token of this installation, by name and digest, so that another one that is later made under the name is not it. */
const TokenOwner = t.strict({ kind: t.literal('token'), name: t.string, sha256: Sha256 });

/** Somebody whom the identity provider signed in, with what people call them and the groups that they had then. */
const AccountOwner = t.strict({
  kind: t.literal('account'),
  account: Account,
  shown: t.string,
  groups: t.array(t.string),
});

/** Whose session it is. */
export const SessionOwner = t.union([TokenOwner, AccountOwner]);
export type SessionOwner = t.TypeOf<typeof SessionOwner>;

/** What the record calls the owner. */
export function ownerName(owner: SessionOwner): string {
  return owner.kind === 'token' ? owner.name : accountName(owner.account, owner.shown);
}

/** The same for all sessions of one token or account. */
export function ownerKey(owner: SessionOwner): string {
  return identityKey(ownerName(owner));
}
