import { isUtf8 } from 'node:buffer';

/** The text of a file of any encoding that can be recognised; null when it is binary. */
export function textOf(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return clean(bytes.subarray(2).toString('utf16le'));
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return clean(bigEndian(bytes.subarray(2)));
  if (bytes.subarray(0, 8_000).includes(0)) return null;
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return clean(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1', start));
}

function bigEndian(bytes: Buffer): string {
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  return Buffer.from(even).swap16().toString('utf16le');
}

/** One kind of line break, and nothing that a text in SQLite cannot hold. */
function clean(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  const whole = lines.isWellFormed() ? lines : lines.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', ' ') : whole;
}

/** At most `length` characters, no half ones. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed();
}

export function countLines(text: string): number {
  if (text === '') return 0;
  let lines = text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** Where each line begins, the first at 0. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** The last part of a qualified name, as its users write it. */
export function simpleName(name: string): string {
  return /[^.:#]*$/.exec(name)![0];
}
