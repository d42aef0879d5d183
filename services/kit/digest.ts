import { createHash, hash, timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';

/** sha256 in lower-case hex. */
export function sha256(bytes: string | Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

/** Canonical JSON as RFC 8785 defines it. `undefined` members are left out. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('a value without a JSON form has no canonical JSON');
  return text;
}

/** sha256 over the canonical JSON of a value. */
export function digestOf(value: unknown): string {
  return sha256(canonicalJson(value));
}

/** Compares two strings in a time that depends on their lengths alone. */
export function equalInConstantTime(left: string, right: string): boolean {
  const a = createHash('sha256').update(left).digest();
  const b = createHash('sha256').update(right).digest();
  return timingSafeEqual(a, b);
}
