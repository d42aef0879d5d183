import * as t from 'io-ts';
import { NonEmptyString, nullable, oneOf, optional, Sha256 } from '../decode.ts';
import { ProposedAction } from './action.ts';
import { approvals } from './vocabulary.ts';

/** Body of `POST /v1/runs/{run_id}/actions/{action_id}/approval`. */
export const ApprovalBody = t.strict({
  decision: oneOf(['approve', 'reject']),
  /** Of the action as it was seen. */
  digest: Sha256,
  /** The approval that was seen with it; when somebody has decided otherwise since, nothing is recorded. */
  seen_approval: optional(nullable(oneOf(approvals))),
  /** Obligatory for a rejection. */
  reason: optional(nullable(NonEmptyString)),
  /** Kept as claimed; who decided is the name of the token. */
  approver: optional(nullable(NonEmptyString)),
});
export type ApprovalBody = t.TypeOf<typeof ApprovalBody>;

export const ApprovalAnswer = t.strict({ run_id: t.string, status: t.string, action: ProposedAction });
export type ApprovalAnswer = t.TypeOf<typeof ApprovalAnswer>;
