import { hash } from 'node:crypto';
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
