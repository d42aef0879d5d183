import type { GivenSignature } from '#kit/contracts/action.ts';
import { approvalNamespace, approvalText } from './approval-text.ts';
import { sign } from './ssh-keygen.ts';

/** What a person decides about one action, and signs. */
export interface Signable {
  readonly action_id: string;
  /** As they saw it. */
  readonly digest: string;
}

export interface SignRequest {
  readonly run_id: string;
  readonly decision: 'approve' | 'reject';
  readonly actions: readonly Signable[];
  /** Name of the token that will decide. */
  readonly approver: string;
  /** How long an approval holds. */
  readonly days: number;
  /** As `findSigningKey` gives it. */
  readonly key: string;
}

/** The same actions with a signature each, made now. */
export function signDecisions<A extends Signable>(
  request: Omit<SignRequest, 'actions'> & { readonly actions: readonly A[] },
  now = new Date(),
): (A & { readonly signature: GivenSignature })[] {
  const { run_id, decision, actions, approver, days, key } = request;
  const signed_at = now.toISOString();
  const expires_at =
    decision === 'approve' ? new Date(now.getTime() + days * 86_400_000).toISOString() : null;
  const texts = actions.map(({ action_id, digest }) =>
    approvalText({ run_id, decision, action_id, digest, approver, signed_at, expires_at }),
  );
  const values = sign(texts, { namespace: approvalNamespace, key });
  return actions.map((action, index) => ({
    ...action,
    signature: { value: values[index]!, signed_at, expires_at },
  }));
}
