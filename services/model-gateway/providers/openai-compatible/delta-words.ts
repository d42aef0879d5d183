import { endOfString } from '#kit/json-bytes.ts';

const deltaKey = Buffer.from('"delta"');
const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const letterU = 0x75;
/** Members of a delta that no model wrote. */
const unwritten = ['"role"', '"id"', '"type"'].map((text) => Buffer.from(text));

/** Bytes of what a model wrote in a chunk: every text in its deltas, without what JSON puts around and into it. */
export function wordsIn(chunk: Buffer): number {
  let words = 0;
  for (let at = chunk.indexOf(deltaKey); at !== -1; at = chunk.indexOf(deltaKey, at)) {
    at = skip(chunk, at + deltaKey.length, colon);
    if (chunk[at] !== 0x7b) continue;
    let depth = 0;
    let isWritten = true;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === quote) {
        const end = endOfString(chunk, at);
        const next = skip(chunk, end, colon);
        if (next > end) {
          isWritten = !unwritten.some((key) => key.length === end - at && startsWith(chunk, at, key));
          at = next - 1;
        } else {
          if (isWritten) words += lengthOf(chunk, at + 1, end - 1);
          at = end - 1;
        }
      } else if (byte === 0x7b || byte === 0x5b) depth++;
      else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) break;
    }
  }
  return words;
}

/** Calls into the buffer's own comparison cost more than such short keys. */
function startsWith(chunk: Buffer, from: number, key: Buffer): boolean {
  for (let index = 0; index < key.length; index++) if (chunk[from + index] !== key[index]) return false;
  return true;
}

/** Past this mark and the white space around it; the place itself where it does not follow. */
function skip(chunk: Buffer, from: number, mark: number): number {
  let at = from;
  while (chunk[at]! <= 0x20) at++;
  if (chunk[at] !== mark) return from;
  at++;
  while (chunk[at]! <= 0x20) at++;
  return at;
}

/** About: what is written as an escape is one character, of three bytes where it has four digits. */
function lengthOf(chunk: Buffer, from: number, end: number): number {
  let length = end - from;
  for (let at = chunk.indexOf(backslash, from); at !== -1 && at < end; at = chunk.indexOf(backslash, at)) {
    const isCode = chunk[at + 1] === letterU;
    length -= isCode ? 3 : 1;
    at += isCode ? 6 : 2;
  }
  return length;
}
