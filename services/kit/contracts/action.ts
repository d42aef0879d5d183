import * as t from 'io-ts';
import {
  NonEmptyString,
  nullable,
  oneOf,
  optional,
  Sha256,
  stringThat,
  Timestamp,
  UtcTimestamp,
} from '../decode.ts';
import { textMasked } from '../redaction/masked-text.ts';
import { Account } from './account.ts';
import { ApprovalProgress } from './approval.ts';
import { actionKinds, actionStates, approvals, gates, risks } from './vocabulary.ts';

/** As `ssh-keygen -Y sign` writes it. */
const SshSignature = stringThat(
  'SshSignature',
  'a signature of ssh-keygen: from -----BEGIN SSH SIGNATURE----- to -----END SSH SIGNATURE-----, at most 16 KiB',
  (text) =>
    text.length <= 16_384 &&
    /^-----BEGIN SSH SIGNATURE-----\n[A-Za-z0-9+/=\n]+\n-----END SSH SIGNATURE-----\n?$/.test(text),
);

/** What a request brings with it that is signed; the text that is signed says all of the decision. */
export const GivenSignature = t.strict({
  value: SshSignature,
  /** When it was signed, by the signer's clock. */
  signed_at: UtcTimestamp,
  /** Until when the approval holds; null for a rejection. */
  expires_at: nullable(UtcTimestamp),
});
export type GivenSignature = t.TypeOf<typeof GivenSignature>;

/** Signature of a decision in the namespace `core-approval`, as it was verified when it was recorded. */
export const ApprovalSignature = t.strict({
  value: SshSignature,
  signed_at: UtcTimestamp,
  /** Of `allowed_signers`: who signed. */
  principal: t.string,
  /** Fingerprint of the key, for example `SHA256:uNiVztksCsDhcc0u9e8BrrJXVbDnwOPxCPoRYkFlvSQ`. */
  key: t.string,
});
export type ApprovalSignature = t.TypeOf<typeof ApprovalSignature>;

/** One decision by a person about one action. */
export const Approval = t.strict({
  decision: oneOf(['approve', 'reject']),
  /** Name of the token or account that gave it; of a standing approval, of its author. */
  approver: t.string,
  /** sha256 of the token's text, so that a later token of the same name is not it; left out of an account, and in records of older versions. */
  token: optional(Sha256),
  /** Of the approver, at the identity provider; left out of a token. */
  account: optional(Account),
  /** Whose token it was by `people` of the policy, and the owners of CODEOWNERS that they are; where rules ask about the action. */
  person: optional(t.strict({ name: t.string, known_as: t.array(t.string) })),
  /** The standing approval that it was given by, without a person at that time. */
  standing: optional(t.strict({ name: t.string, digest: Sha256 })),
  /** A name given in the request, not verified. */
  claimed_approver: nullable(t.string),
  reason: nullable(t.string),
  digest: Sha256,
  at: Timestamp,
  /** null for rejections, which do not expire. */
  expires_at: nullable(Timestamp),
  /** Left out where the decision is not signed. */
  signature: optional(ApprovalSignature),
});
export type Approval = t.TypeOf<typeof Approval>;

/** For people, behind the approver: `, signed by mira@example.org`; empty where it is not signed. Not safe to print. */
export function signedBy({ approver, signature }: Pick<Approval, 'approver' | 'signature'>): string {
  if (signature === undefined) return '';
  return signature.principal === approver ? ', signed' : `, signed by ${signature.principal}`;
}

/** Who decided, for people. Not safe to print. */
export function approverText({ approver, standing }: Pick<Approval, 'approver' | 'standing'>): string {
  return standing === undefined ? approver : `the standing approval '${standing.name}' of ${approver}`;
}

/** A proposed action as it stands, as every service shows and reads it. */
export const ProposedAction = t.strict({
  run_id: t.string,
  action_id: t.string,
  kind: oneOf(actionKinds),
  ordinal: t.number,
  gate: oneOf(gates),
  title: t.string,
  rationale: t.string,
  risk: oneOf(risks),
  risk_score: t.number,
  risk_reasons: t.array(t.string),
  approval: oneOf(approvals),
  /** The decision in force, with its reason and expiry. */
  decision: nullable(Approval),
  /** The latest decision of each person who made one, oldest first. */
  decisions: optional(t.array(Approval)),
  /** Left out where no rule asks about the action: one approval is enough. */
  approval_progress: optional(ApprovalProgress),
  /** Approved, but the approval no longer counts: it expired, a token was revoked or the rules changed. Left out otherwise. */
  approval_lapsed: optional(t.literal(true)),
  /**
   * Why an approval does not count now (`approval_lapsed`), or why that is unknown (`approvals_unread`). null if it counts, or if there
   * is none. Left out by older versions.
   */
  approval_problem: optional(nullable(t.strict({ code: t.string, message: t.string }))),
  dry_run: t.boolean,
  depends_on: t.array(t.string),
  params: t.UnknownRecord,
  artifacts: t.record(t.string, Sha256),
  influences: t.array(
    t.strict({ kind: t.string, source: t.string, author: nullable(t.string), trusted: t.boolean }),
  ),
  /** How like actions went before; left out or null where nothing is known. */
  history: optional(
    nullable(
      t.strict({
        /** 0 to 1. */
        score: t.number,
        expected: t.number,
        counts: t.record(t.string, t.number),
        cases: t.array(
          t.strict({
            run_id: t.string,
            action_id: t.string,
            repository: t.string,
            outcome: t.string,
            at: t.string,
            reason: nullable(t.string),
          }),
        ),
      }),
    ),
  ),
  /** Why people rejected such actions of earlier runs of the issue, newest first; left out where nobody did. */
  rejected_before: optional(
    t.array(t.strict({ run_id: t.string, by: t.string, at: Timestamp, reason: t.string })),
  ),
  target: t.UnknownRecord,
  digest: Sha256,
  state: oneOf(actionStates),
  outcome: nullable(t.strict({ code: optional(t.string), message: t.string, facts: t.UnknownRecord })),
  started_at: nullable(Timestamp),
  finished_at: nullable(Timestamp),
});
export type ProposedAction = t.TypeOf<typeof ProposedAction>;

type EarlierRejection = NonNullable<ProposedAction['rejected_before']>[number];

/** For example `2 merged, 1 rejected`; empty where nothing is known. */
export function countsText({ counts }: NonNullable<ProposedAction['history']>): string {
  const known = Object.entries(counts).filter(([, count]) => count > 0);
  return known.map(([outcome, count]) => `${count} ${outcome}`).join(', ');
}

/** For people, before they decide about the next proposal. Not safe to print. */
export function rejectedText({ by, at, reason }: Pick<EarlierRejection, 'by' | 'at' | 'reason'>): string {
  return `rejected before: ${reason} (by ${by}, ${at.slice(0, 16).replace('T', ' ')})`;
}

/** `GET /v1/runs/{run_id}/actions`. */
export const ActionList = t.strict({ run_id: t.string, status: t.string, actions: t.array(ProposedAction) });
export type ActionList = t.TypeOf<typeof ActionList>;

/** Body of `POST /v1/runs/{run_id}/actions/{action_id}/approval`. */
export const ApprovalBody = t.strict({
  decision: oneOf(['approve', 'reject']),
  /** Of the action as it was seen. */
  digest: Sha256,
  /** The approval that was seen with it; when somebody has decided otherwise since, nothing is recorded. */
  seen_approval: optional(nullable(oneOf(approvals))),
  /** Obligatory for a rejection. */
  reason: optional(nullable(textMasked(NonEmptyString))),
  /** Approves also what builds on a validation that failed. */
  anyway: optional(t.boolean),
  /** Kept as claimed; who decided is the name of the token. */
  approver: optional(nullable(textMasked(NonEmptyString))),
  /** Of the decision in the name of the token; needed where the policy requires it. */
  signature: optional(nullable(GivenSignature)),
});

export const ApprovalAnswer = t.strict({ run_id: t.string, status: t.string, action: ProposedAction });
export type ApprovalAnswer = t.TypeOf<typeof ApprovalAnswer>;
