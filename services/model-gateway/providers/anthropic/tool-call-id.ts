import { sha256 } from '#kit/digest.ts';

/** Anthropic takes letters, digits, `_` and `-`; other upstreams of the same conversation may have given ids that it refuses. */
export function providerCallId(id: string): string {
  return /^[A-Za-z0-9_-]+$/.test(id) ? id : `call_${sha256(id).slice(0, 24)}`;
}
