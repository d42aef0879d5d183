import { decodeJson } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import { CoreError, NotFound } from '#kit/errors.ts';
import type { RunStore } from '../runs/run-store.ts';
import { type ApprovalSignatures, requiredBy } from '../signatures/approval-signatures.ts';
import { signerOf } from '../signatures/ssh-keygen.ts';
import { armoured, attestationNamespace, Envelope, preAuthEncoding, Statement } from './envelope.ts';
import { statementOf } from './statement.ts';

/** What an attestation is worth; `problems` is empty when all holds. */
export interface AttestationCheck {
  readonly run_id: string;
  /** sha256 of the statement, as a pull request names it. */
  readonly digest: string;
  readonly as_of: number;
  readonly commit: string;
  /** Fingerprint and principals of each signature of the envelope. */
  readonly signed_by: readonly { readonly key: string; readonly principals: readonly string[] }[];
  readonly approvals: readonly {
    readonly action_id: string;
    readonly approver: string;
    /** Who signed it; null where it is not signed. */
    readonly principal: string | null;
  }[];
  /** Whether the record of the run says the same, if it is here. */
  readonly record: 'agrees' | 'differs' | 'not here';
  readonly problems: readonly string[];
}

/** Checks an envelope by itself and against the record of its run, if that is here. */
export async function verifyAttestation(
  text: string,
  { store, signatures }: { readonly store: RunStore; readonly signatures: ApprovalSignatures },
): Promise<AttestationCheck> {
  const { payloadType, payload, signatures: given } = decodeJson(Envelope, text, 'attestation');
  const bytes = Buffer.from(payload, 'base64');
  const statement = decodeJson(Statement, bytes.toString(), 'statement of the attestation');
  const { run_id, as_of, planned, approved } = statement.predicate;
  const problems: string[] = [];
  const signed_by: AttestationCheck['signed_by'][number][] = [];
  for (const { sig } of given) {
    const { signersFile } = signatures;
    try {
      const encoded = preAuthEncoding(payloadType, bytes);
      const signer = signerOf(encoded, armoured(sig), { namespace: attestationNamespace, signersFile });
      if (signer.principals.length === 0)
        problems.push(
          `signed with ${signer.key}, which is not in ${signersFile} for the namespace ${attestationNamespace}`,
        );
      signed_by.push(signer);
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      problems.push(`a signature of the attestation: ${error.message}`);
    }
  }
  if (given.length === 0) problems.push('the attestation is not signed');
  for (const { signature, ...approval } of approved) {
    const { action_id, approver, decision, digest } = approval;
    const action = planned.actions.find((one) => one.action_id === action_id);
    if (action?.digest !== digest)
      problems.push(
        `the approval of ${action_id} is for ${digest.slice(0, 12)}, and planned was ${action?.digest.slice(0, 12) ?? 'no such action'}`,
      );
    if (signatures.required && signature === null && decision === 'approve')
      problems.push(`the approval of ${action_id} by ${approver} is not signed (${requiredBy})`);
    const unsaid = {
      claimed_approver: null,
      reason: null,
      token: undefined,
      account: undefined,
      person: undefined,
      standing: undefined,
    };
    const whole = { ...approval, ...unsaid, signature: signature ?? undefined };
    const problem = signatures.recordedProblem({ run_id, action_id }, whole);
    if (problem !== null) problems.push(`the approval of ${action_id}: ${problem.message}`);
  }
  const record = await recordOf(store, run_id, as_of.seq, bytes.toString());
  if (record === 'differs') problems.push(`the record of run ${run_id} says something else`);
  return {
    run_id,
    digest: sha256(bytes),
    as_of: as_of.seq,
    commit: statement.subject[0]?.digest.gitCommit ?? '',
    signed_by,
    approvals: approved.map(({ action_id, approver, signature }) => ({
      action_id,
      approver,
      principal: signature?.principal ?? null,
    })),
    record,
    problems,
  };
}

async function recordOf(
  store: RunStore,
  runId: string,
  seq: number,
  statement: string,
): Promise<AttestationCheck['record']> {
  try {
    return (await statementOf(store, runId, seq)) === statement ? 'agrees' : 'differs';
  } catch (error) {
    if (error instanceof NotFound && error.code !== 'artifact_not_found') return 'not here';
    if (error instanceof CoreError) return 'differs';
    throw error;
  }
}
