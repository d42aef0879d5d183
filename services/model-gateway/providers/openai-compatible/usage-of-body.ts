import { type Usage, usageOf } from '../usage.ts';

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const key = 'usage';
/** Larger, in bytes, it is none. */
const largest = 16 * 1024;

/** Usage in a whole answer: the member of the answer itself, and of nothing in it. */
export function usageInBody(value: unknown): Usage | null {
  return typeof value === 'object' && value !== null && 'usage' in value ? usageOf(value.usage) : null;
}

/** Usage in an answer that is too large to be held: found as it goes by, each byte looked at once. */
export class LargeBodyReader {
  usage: Usage | null = null;
  #depth = 0;
  #inText = false;
  #escaped = false;
  /** The last text between members of the answer, as far as it can be the key. */
  #word = '';
  /** What follows the key; null elsewhere. */
  #value: string | null = null;

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]!;
      if (this.#inText) at = this.#text(piece, at);
      else this.#mark(byte);
    }
  }

  /** @returns the last byte that was read */
  #text(piece: Buffer, from: number): number {
    if (this.#escaped) {
      this.#escaped = false;
      this.#keep(piece, from, from + 1);
      return from;
    }
    const isKept = this.#depth === 1 || this.#value !== null;
    let at = from;
    while (at < piece.length && piece[at] !== quote && piece[at] !== backslash) at++;
    if (isKept) this.#keep(piece, from, Math.min(at + 1, piece.length));
    if (piece[at] === quote) this.#inText = false;
    else if (piece[at] === backslash) this.#escaped = true;
    return at;
  }

  #keep(piece: Buffer, from: number, to: number): void {
    if (this.#value !== null) this.#add(piece.toString('latin1', from, to));
    else if (this.#depth === 1 && this.#word.length <= key.length + 2)
      this.#word += piece.toString('latin1', from, Math.min(to, from + key.length + 2));
  }

  #mark(byte: number): void {
    if (byte === quote) {
      this.#inText = true;
      if (this.#value !== null) this.#add('"');
      else this.#word = '';
      return;
    }
    const ends = byte === 0x7d || byte === 0x5d;
    if (ends) this.#depth--;
    if (this.#depth === 0 || (this.#depth === 1 && byte === comma)) this.#settle();
    else if (this.#value !== null) this.#add(String.fromCharCode(byte));
    else if (byte === colon && this.#depth === 1 && this.#word === `${key}"`) this.#value = '';
    if (byte === 0x7b || byte === 0x5b) this.#depth++;
  }

  #add(text: string): void {
    if (this.#value!.length + text.length > largest) this.#value = null;
    else this.#value += text;
  }

  #settle(): void {
    const text = this.#value;
    this.#value = null;
    this.#word = '';
    if (text === null) return;
    try {
      this.usage = usageOf(JSON.parse(text)) ?? this.usage;
    } catch {
      // What is no JSON counts nothing; its bytes go on as they came.
    }
  }
}
