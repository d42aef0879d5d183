import { isUtf8 } from 'node:buffer';

const lineEnd = 0x0a;
const firstBroken = 0xdc00;

/**
 * Text of UTF-8, of which no two inputs look the same: a byte that is none becomes half of a surrogate pair, U+DC00 and the
 * byte, as in Python's `surrogateescape`.
 */
export function textOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  let text = '';
  for (let from = 0; from < buffer.length; ) {
    const end = buffer.indexOf(lineEnd, from);
    const line = buffer.subarray(from, end === -1 ? buffer.length : end + 1);
    text += isUtf8(line) ? line.toString('utf8') : brokenLine(line);
    from += line.length;
  }
  return text;
}

function brokenLine(line: Buffer): string {
  let text = '';
  for (let at = 0; at < line.length; ) {
    const length = lengthBy(line[at]!);
    const character = line.subarray(at, at + length);
    if (character.length === length && isUtf8(character)) {
      text += character.toString('utf8');
      at += length;
    } else text += String.fromCharCode(firstBroken + line[at++]!);
  }
  return text;
}

/** Bytes of a character that begins with this one. */
function lengthBy(byte: number): number {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
