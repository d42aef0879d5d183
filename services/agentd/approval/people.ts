import { isOf } from '#kit/contracts/account.ts';
import type { People } from './rule.ts';

/** Somebody whom `people` of policy.json lists. */
export interface Somebody {
  readonly person: string;
  /** Owners of CODEOWNERS that they are, as `ownerKey` writes them. */
  readonly known_as: readonly string[];
}

/** Whose token or account it is, by its name; null where `people` does not list it. */
export function personOf(people: People, identity: string): Somebody | null {
  const found = Object.entries(people).find(
    ([name, { tokens, accounts }]) =>
      name === identity || tokens?.includes(identity) || accounts?.some((account) => isOf(account, identity)),
  );
  if (found === undefined) return null;
  const [person, { logins = [], teams = [], emails = [] }] = found;
  return { person, known_as: [...logins.map(accountKey), ...teams.map(accountKey), ...emails.map(ownerKey)] };
}

/** Who has this login on the forge, or this token; null where `people` names nobody. */
export function personNamed(people: People, name: string): Somebody | null {
  const byToken = personOf(people, name);
  if (byToken !== null) return byToken;
  const key = accountKey(name);
  const found = Object.entries(people).find(([, { logins = [] }]) =>
    logins.some((login) => accountKey(login) === key),
  );
  return found === undefined ? null : personOf(people, found[0]);
}

/** An owner of CODEOWNERS in the form in which two are compared: forges compare logins, teams and addresses in any case. */
export function ownerKey(owner: string): string {
  return owner.toLowerCase();
}

function accountKey(name: string): string {
  return ownerKey(`@${name.replace(/^@/, '')}`);
}
