import type { Approval } from '../action.ts';

/** What a signature of a decision binds. */
export interface SignedFacts extends Pick<Approval, 'decision' | 'digest' | 'expires_at'> {
  readonly run_id: string;
  readonly action_id: string;
  /** Name of the token that decides. */
  readonly approver: string;
  /** `toISOString`, by the signer's clock. */
  readonly signed_at: string;
}

/** Namespace of `ssh-keygen -Y` for decisions. */
export const approvalNamespace = 'core-approval';

/** The bytes that are signed: lines that a person can read, and write again from the record of the run. */
export function approvalText(facts: SignedFacts): string {
  const { decision, run_id, action_id, digest, approver, signed_at, expires_at } = facts;
  return [
    'core-approval 1',
    `decision ${decision}`,
    `run ${run_id}`,
    `action ${action_id}`,
    `digest ${digest}`,
    `approver ${approver}`,
    `signed ${signed_at}`,
    `expires ${expires_at ?? 'never'}`,
    '',
  ].join('\n');
}

/** A recorded decision as it was signed; null where it was not. */
export function signedFacts(
  subject: { readonly run_id: string; readonly action_id: string },
  approval: Approval,
): SignedFacts | null {
  const { decision, digest, approver, expires_at, signature } = approval;
  if (signature === undefined) return null;
  return { ...subject, decision, digest, approver, expires_at, signed_at: signature.signed_at };
}
