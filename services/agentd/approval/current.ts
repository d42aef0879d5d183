import { type Account, isAmong } from '#kit/contracts/account.ts';
import type { TokenRecord } from '#kit/tokens/token.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import type { ApprovalPolicy } from './rule.ts';

/** What decides about approvals besides the record of a run, as it is now. */
export interface ApprovalsNow {
  readonly policy: ApprovalPolicy;
  readonly tokens: readonly Pick<TokenRecord, 'name' | 'scopes' | 'revoked'>[];
  readonly signatures: Pick<ApprovalSignatures, 'problemOf'>;
}

/** Reads it. @throws CoreError where it cannot be read */
export type ReadApprovals = () => ApprovalsNow;

/**
 * Why a token may not do this any more; null where it may, or where this installation does not know it. One that has expired since is
 * no reason: what it did in its time stands.
 */
export function whyTokenMayNot(
  name: string,
  scope: 'approve' | 'admin',
  { tokens }: Pick<ApprovalsNow, 'tokens'>,
): string | null {
  const named = tokens.filter((one) => one.name === name);
  // A service has one on each host.
  const token = named.find(({ revoked }) => revoked === null) ?? named[0];
  if (token === undefined) return null;
  if (token.revoked !== null) return `the token '${name}' was revoked at ${token.revoked}`;
  if (token.scopes.includes(scope) || token.scopes.includes('admin')) return null;
  return `the token '${name}' has the scopes ${token.scopes.join(', ')} now, without ${scope}`;
}

/** Why an account may do nothing any more; null where it may, and for a token. */
export function whyAccountMayNot(
  account: Account | undefined,
  { policy }: Pick<ApprovalsNow, 'policy'>,
): string | null {
  const { revoked_accounts = [] } = policy.approval;
  if (account === undefined || !isAmong(account, revoked_accounts)) return null;
  return `the account ${account.subject} of ${account.issuer} is in revoked_accounts of policy.json`;
}

/** Who answers for a standing approval must be known here and have the scope `admin`. */
export function whyNotAuthor(author: string, current: Pick<ApprovalsNow, 'tokens'>): string | null {
  const known = current.tokens.some(({ name }) => name === author);
  return known ? whyTokenMayNot(author, 'admin', current) : `there is no token '${author}'`;
}
