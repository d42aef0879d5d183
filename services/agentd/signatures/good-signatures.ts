import { sha256 } from '#kit/digest.ts';

/** Everything that decides whether a signature is good. */
export interface Checked {
  readonly text: string | Uint8Array;
  readonly signature: string;
  readonly namespace: string;
  /** Content of `allowed_signers`. */
  readonly signers: string;
  readonly principal: string;
  /** Time in the zone of this machine and in UTC, for example `20261128093000`. */
  readonly at: { readonly local: string; readonly utc: string };
}

const most = 5_000;
const found = new Map<string, string>();

/**
 * Returns the cached key of a good signature, otherwise the result of `check`. The name of a cache entry covers all inputs, so no entry
 * can be stale. Signatures that are not good are checked each time.
 */
export function remembered<F extends { readonly key: string } | { readonly problem: string }>(
  checked: Checked,
  check: () => F,
): F | { readonly key: string } {
  const name = nameOf(checked);
  const key = name === null ? undefined : found.get(name);
  if (key !== undefined) return { key };
  const result = check();
  if (name !== null && 'key' in result) {
    if (found.size >= most) found.delete(found.keys().next().value!);
    found.set(name, result.key);
  }
  return result;
}

/** Name of the cache entry; null if the effect of the time is not known. */
function nameOf({ text, signature, namespace, signers, principal, at }: Checked): string | null {
  const moments = momentsOf(signers, at);
  if (moments === null) return null;
  return sha256(JSON.stringify([sha256(text), signature, namespace, sha256(signers), principal, moments]));
}

/** Whether the time is before, at or after each limit of validity in the file; null if a limit is not understood. */
function momentsOf(signers: string, at: Checked['at']): number[] | null {
  if (/cert-authority/i.test(signers)) return null;
  const limits = [...signers.matchAll(/valid-(?:after|before)="(\d{8}(?:\d{4}(?:\d\d)?)?)(Z?)"/gi)];
  if (limits.length !== [...signers.matchAll(/valid-/gi)].length) return null;
  return limits.map(([, digits = '', zone]) => {
    const now = zone === '' ? at.local : at.utc;
    const limit = digits.padEnd(14, '0');
    return now < limit ? -1 : now > limit ? 1 : 0;
  });
}
