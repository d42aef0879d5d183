import { type Account, isAmong } from '#kit/contracts/account.ts';
import type { TokenRecord } from '#kit/tokens/token.ts';
import { fateOf, holderAt } from '#kit/tokens/token-history.ts';
import type { Approval, Problem } from '../action.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import type { ApprovalPolicy, StandingApproval } from './rule.ts';

/** What decides about approvals besides the record of a run, as it is now. */
export interface ApprovalsNow {
  readonly policy: ApprovalPolicy;
  readonly tokens: readonly TokenRecord[];
  /** Names of forges.json. */
  readonly forges: readonly string[];
  readonly signatures: Pick<ApprovalSignatures, 'problemOf'>;
}

/** Reads it. @throws CoreError where it cannot be read */
export type ReadApprovals = () => ApprovalsNow;

/** The token behind a decision. */
export interface DecidingToken {
  readonly name: string;
  /** sha256 of its text; undefined in records of older versions. */
  readonly token: string | undefined;
  /** When it decided. */
  readonly at: string;
}

/**
 * Why a token may no longer do this; null where it may. Only the token itself counts, and one that continues it by rotation: another one
 * of the same name does not. A token that has expired since is no reason: its decisions stand.
 */
export function whyTokenMayNot(
  { name, token, at }: DecidingToken,
  scope: 'approve' | 'admin',
  { tokens }: Pick<ApprovalsNow, 'tokens'>,
): string | null {
  const digest = token ?? holderAt(tokens, name, at);
  const fate = digest === null ? null : fateOf(tokens, name, digest);
  if (fate === null) {
    const named = tokens.some((one) => one.name === name);
    // Older versions recorded the name alone, also on an installation that does not know the token.
    if (token === undefined && !named) return null;
    return named
      ? `the token '${name}' of today is another one`
      : `this installation does not know the token '${name}'`;
  }
  const { current, revoked } = fate;
  const another =
    current.sha256 === digest || current.revoked !== null
      ? ''
      : `, and a new token with that name does not restore its approvals`;
  if (revoked !== null) return `the token '${name}' was revoked at ${revoked}${another}`;
  if (current.scopes.includes(scope) || current.scopes.includes('admin')) return null;
  return `the token '${name}' has the scopes ${current.scopes.join(', ')} now, without ${scope}`;
}

/** Why a decision of a person no longer counts, as far as who made it decides; null where it does. */
export function whyDeciderMayNot(
  { approver, token, account, at }: Pick<Approval, 'approver' | 'token' | 'account' | 'at'>,
  current: Omit<ApprovalsNow, 'signatures'>,
): string | null {
  if (account !== undefined) return whyAccountMayNot(account, current);
  return whyTokenMayNot({ name: approver, token, at }, 'approve', current);
}

/** Problem with a decision's token or signature; null if both are valid. The author of a standing approval is checked separately. */
export function decisionProblem(
  subject: { readonly run_id: string; readonly action_id: string },
  approval: Approval,
  current: ApprovalsNow,
  now: string,
): Problem | null {
  const { approver, standing } = approval;
  const why = standing === undefined ? whyDeciderMayNot(approval, current) : null;
  if (why === null) return current.signatures.problemOf(subject, approval, now);
  const message = `the approval by ${approver} no longer counts: ${why}; approve it again`;
  return { code: 'approver_revoked', message };
}

/** Why an account may do nothing any more; null where it may. */
function whyAccountMayNot(account: Account, { policy }: Pick<ApprovalsNow, 'policy'>): string | null {
  const { revoked_accounts = [] } = policy.approval;
  if (!isAmong(account, revoked_accounts)) return null;
  return `the account ${account.subject} of ${account.issuer} is in revoked_accounts of policy.json`;
}

/** The token that answers for a standing approval. */
interface StandingAuthor {
  /** sha256 of its text. */
  readonly token: string | null;
  /** Why it may not answer for it; null where it may. */
  readonly why: string | null;
}

/**
 * Who answers for a standing approval must be known here and have the scope `admin`. After a revocation, `author_token` of policy.json
 * says that the next token of the name is meant.
 */
export function authorOf(
  { author, author_token }: Pick<StandingApproval, 'author' | 'author_token'>,
  { tokens }: Pick<ApprovalsNow, 'tokens'>,
): StandingAuthor {
  const named = tokens.find(({ name }) => name === author);
  if (named === undefined) return { token: null, why: `there is no token '${author}'` };
  const token = author_token ?? named.former?.[0]?.sha256 ?? named.sha256;
  const why = whyTokenMayNot({ name: author, token, at: named.created }, 'admin', { tokens });
  const hint =
    author_token === undefined && named.revoked === null
      ? `; if you mean the new token, set author_token to ${named.sha256} (./core token list --json)`
      : '';
  return { token, why: why === null ? null : `${why}${named.sha256 === token ? '' : hint}` };
}
