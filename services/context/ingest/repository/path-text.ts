import { isUtf8 } from 'node:buffer';

/** A path as text; bytes that are no UTF-8 are written `\xff`, so that two paths stay two. */
export function pathText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  return bytes.toString('latin1').replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
