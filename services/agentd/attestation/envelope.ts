import * as t from 'io-ts';
import { oneOf, optional, Timestamp } from '#kit/decode.ts';
import { Approval } from '../action.ts';
import { sign, signerOf } from '../signatures/ssh-keygen.ts';
import { predicateType, statementType } from './statement.ts';

/** Dead Simple Signing Envelope, version 1 (github.com/secure-systems-lab/dsse). */
export const Envelope = t.strict({
  payloadType: t.literal('application/vnd.in-toto+json'),
  /** Base64 of the statement. */
  payload: t.string,
  signatures: t.array(
    t.strict({
      /** Fingerprint of the SSH key. */
      keyid: optional(t.string),
      /** Base64 of an SSH signature (OpenSSH's PROTOCOL.sshsig) over the pre-authentication encoding. */
      sig: t.string,
    }),
  ),
});
export type Envelope = t.TypeOf<typeof Envelope>;

/** What is read again of a statement of ours. */
export const Statement = t.type({
  _type: t.literal(statementType),
  subject: t.array(t.type({ name: t.string, digest: t.type({ gitCommit: t.string }) })),
  predicateType: t.literal(predicateType),
  predicate: t.type({
    run_id: t.string,
    as_of: t.type({ seq: t.number, hash: t.string }),
    planned: t.type({ actions: t.array(t.type({ action_id: t.string, digest: t.string })) }),
    approved: t.array(
      t.type({
        action_id: t.string,
        decision: oneOf(['approve', 'reject']),
        approver: t.string,
        digest: t.string,
        at: Timestamp,
        expires_at: Approval.type.props.expires_at,
        signature: t.union([Approval.type.props.signature, t.null]),
      }),
    ),
  }),
});
export type Statement = t.TypeOf<typeof Statement>;

/** Namespace of `ssh-keygen -Y` for attestations. */
export const attestationNamespace = 'core-attestation';

/** DSSE's pre-authentication encoding: what is signed. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** @param key as `findSigningKey` gives it; null leaves the envelope without a signature */
export function envelopeOf(statement: string, key: string | null): Envelope {
  const payloadType = 'application/vnd.in-toto+json';
  const bytes = Buffer.from(statement);
  const envelope = { payloadType, payload: bytes.toString('base64') } as const;
  if (key === null) return { ...envelope, signatures: [] };
  const text = preAuthEncoding(payloadType, bytes);
  const [armoured] = sign([text], { namespace: attestationNamespace, key }) as [string];
  const { key: keyid } = signerOf(text, armoured, { namespace: attestationNamespace, signersFile: null });
  return { ...envelope, signatures: [{ keyid, sig: withoutArmour(armoured) }] };
}

function withoutArmour(signature: string): string {
  return signature.replaceAll(/-----[A-Z ]+-----|\s/g, '');
}

/** As ssh-keygen reads it. */
export function armoured(base64: string): string {
  const lines = base64.match(/.{1,70}/g) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}
