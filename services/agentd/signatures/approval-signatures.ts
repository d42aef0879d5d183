import { join } from 'node:path';
import { CoreError, InvalidInput, Refused } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Approval } from '../action.ts';
import type { Policy } from '../policy.ts';
import { approvalNamespace, approvalText, type SignedFacts, signedFacts } from './approval-text.ts';
import { verifySignature } from './ssh-keygen.ts';

/** A decision must be recorded so soon after it was signed, and clocks may differ by that much. In milliseconds. */
const maxDelayMs = 15 * 60_000;
const maxSkewMs = 2 * 60_000;
const dayMs = 86_400_000;

export interface Subject {
  readonly run_id: string;
  readonly action_id: string;
}

/** Whose signature it is. */
export interface Signer {
  readonly principal: string;
  /** Fingerprint. */
  readonly key: string;
}

export interface SignatureProblem {
  readonly code: string;
  readonly message: string;
}

type SignatureTerms = Pick<Policy['approval'], 'expires_after_days' | 'require_signature' | 'signers'>;

/** Which signatures count: those that `allowed_signers` has keys for, as it is when they are checked. */
export class ApprovalSignatures {
  readonly #terms: SignatureTerms;
  /** Path of `allowed_signers`. */
  readonly signersFile: string;

  constructor(terms: SignatureTerms, signersFile: string) {
    this.#terms = terms;
    this.signersFile = signersFile;
  }

  /** The same terms with another list of keys, as it was earlier. */
  withSigners(signersFile: string): ApprovalSignatures {
    return new ApprovalSignatures(this.#terms, signersFile);
  }

  /** True if only signed approvals count. */
  get required(): boolean {
    return this.#terms.require_signature;
  }

  /**
   * Checks what a request brings, before it is recorded.
   * @param now as the record will say
   * @param decidedAt when the action was decided last, so that nobody repeats a decision that was changed since
   * @throws InvalidInput (`signature_time`), Refused (`signature_invalid`, `allowed_signers_missing`)
   */
  accept(facts: SignedFacts, value: string, now: string, decidedAt: string | null): Signer {
    const problem = this.#timeProblem(facts, now, decidedAt);
    if (problem !== null)
      throw new InvalidInput('signature_time', problem, {
        errors: [{ pointer: '/signature', detail: problem }],
        hint: 'Sign it again.',
      });
    return this.#signer(facts, value, new Date(now));
  }

  /** Why a recorded approval does not count now, as far as its signature decides; null when it does. */
  problemOf(subject: Subject, approval: Approval, now: string): SignatureProblem | null {
    const { signature, decision, approver } = approval;
    if (signature === undefined)
      return this.required && decision === 'approve'
        ? { code: 'signature_required', message: `the approval by ${approver} is not signed (${requiredBy})` }
        : null;
    return this.recordedProblem(subject, approval) ?? this.#verifyProblem(subject, approval, new Date(now));
  }

  /** The same of what was recorded earlier, by the keys that were valid when it was signed. */
  recordedProblem(subject: Subject, approval: Approval): SignatureProblem | null {
    const { signature, at } = approval;
    if (signature === undefined) return null;
    const delay = Date.parse(at) - Date.parse(signature.signed_at);
    if (delay > maxDelayMs || delay < -maxSkewMs)
      return {
        code: 'signature_time',
        message: `the decision is recorded at ${at}, but was signed at ${signature.signed_at}`,
      };
    return this.#verifyProblem(subject, approval, new Date(signature.signed_at));
  }

  #verifyProblem(subject: Subject, approval: Approval, at: Date): SignatureProblem | null {
    const { value, key, principal } = approval.signature!;
    try {
      const signer = this.#signer(signedFacts(subject, approval)!, value, at);
      if (signer.key !== key)
        return invalid(`the record names the key ${key}, and it was signed with ${signer.key}`);
      if (this.#namesOf(approval.approver).includes(principal)) return null;
      return invalid(`the record names ${principal} as who signed it, and it was ${signer.principal}`);
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      return { code: error.code, message: error.message };
    }
  }

  /** @throws Refused (`signature_invalid`, `allowed_signers_missing`), Failed (`ssh_keygen_missing`) */
  #signer(facts: SignedFacts, value: string, at: Date): Signer {
    const { approver } = facts;
    const text = approvalText(facts);
    const problems: string[] = [];
    for (const principal of this.#namesOf(approver)) {
      const found = verifySignature(text, value, {
        namespace: approvalNamespace,
        signersFile: this.signersFile,
        principal,
        at,
      });
      if ('key' in found) return { principal, key: found.key };
      problems.push(found.problem);
    }
    throw new Refused(
      'signature_invalid',
      `the signature is not one of ${approver} over this decision: ${[...new Set(problems)].join('; ')}`,
      {
        hint: `A key of ${approver} must stand in ${this.signersFile} for the namespace ${approvalNamespace}, under this name or one of approval.signers in policy.json.`,
      },
    );
  }

  /** Principals that sign for a token. */
  #namesOf(approver: string): readonly string[] {
    return [approver, ...(this.#terms.signers[approver] ?? [])];
  }

  #timeProblem(facts: SignedFacts, now: string, decidedAt: string | null): string | null {
    const { signed_at, expires_at, decision } = facts;
    const age = Date.parse(now) - Date.parse(signed_at);
    if (age > maxDelayMs) return `was signed at ${signed_at}, more than 15 minutes ago (it is ${now})`;
    if (age < -maxSkewMs) return `was signed at ${signed_at}, which is to come (it is ${now})`;
    if (decidedAt !== null && signed_at <= decidedAt)
      return `was signed at ${signed_at}, and the action was decided again at ${decidedAt}`;
    if (decision === 'reject') return expires_at === null ? null : 'of a rejection has expires_at null';
    const { expires_after_days: days } = this.#terms;
    const latest = new Date(Date.parse(signed_at) + days * dayMs).toISOString();
    if (expires_at === null || expires_at <= now || expires_at > latest)
      return `expires at ${expires_at ?? 'no time'}: must be after ${now} and not after ${latest} (approval.expires_after_days of policy.json is ${days})`;
    return null;
  }
}

function invalid(message: string): SignatureProblem {
  return { code: 'signature_invalid', message };
}

/** OpenSSH's list of who may sign, beside the other configuration. */
export function signersFile({ config }: Pick<Folders, 'config'>): string {
  return join(config, 'allowed_signers');
}

/** What a message says of who requires a signature. */
export const requiredBy = 'approval.require_signature of config/policy.json';
