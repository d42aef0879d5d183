import { createHmac, timingSafeEqual } from 'node:crypto';

/** Headers of what is signed with its time: an event that comes in, or a summary that goes out. */
export const signatureHeader = 'x-core-signature';
/** Seconds since 1970. */
export const timestampHeader = 'x-core-timestamp';

/** HMAC-SHA256 over `timestamp.body`, or over the body alone where `timestamp` is null. */
export function hmacOf(secret: Uint8Array, timestamp: string | null, body: Uint8Array): Buffer {
  const hmac = createHmac('sha256', secret);
  if (timestamp !== null) hmac.update(`${timestamp}.`);
  return hmac.update(body).digest();
}

/** `sha256=` and the HMAC in hex. */
export function signatureOf(secret: Uint8Array, timestamp: string | null, body: Uint8Array): string {
  return `sha256=${hmacOf(secret, timestamp, body).toString('hex')}`;
}

/** Whether one of the secrets made this HMAC, compared in constant time. */
export function isSigned(
  given: string,
  secrets: readonly Uint8Array[],
  timestamp: string | null,
  body: Uint8Array,
): boolean {
  const bytes = /^[0-9a-f]{64}$/i.test(given) ? Buffer.from(given, 'hex') : null;
  let signed = false;
  for (const secret of secrets) {
    const wanted = hmacOf(secret, timestamp, body);
    if (bytes !== null && timingSafeEqual(wanted, bytes)) signed = true;
  }
  return signed;
}
