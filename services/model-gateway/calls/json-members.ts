import { endOfString } from '#kit/json-bytes.ts';

/** A member of a JSON object in its bytes; ends are exclusive. */
export interface Member {
  readonly key: string;
  /** Of the key with its quotes. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** Of the value. */
  readonly start: number;
  readonly end: number;
}

export interface Members {
  readonly members: readonly Member[];
  /** Of the object. */
  readonly end: number;
}

/** What is nested deeper comes from no client, and exhausts the stack of those that walk it. */
export const deepest = 200;

export class NestedTooDeep extends Error {}

const quote = 0x22;

/**
 * The members of the object that begins at `from`, those with equal keys too. @throws NestedTooDeep
 * The bytes must be JSON already; nothing is
 * decoded but keys, so that it costs little and everything else keeps its bytes.
 */
export function membersOf(json: Buffer, from = 0): Members {
  const members: Member[] = [];
  let at = skipSpace(json, from) + 1;
  for (;;) {
    at = skipSpace(json, at);
    const byte = json[at];
    if (byte === 0x7d || byte === undefined) return { members, end: at + 1 };
    if (byte === 0x2c) {
      at++;
      continue;
    }
    const keyEnd = endOfString(json, at);
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    members.push({ key: keyOf(json, at, keyEnd), keyStart: at, keyEnd, start, end });
    at = end;
  }
}

function keyOf(json: Buffer, start: number, end: number): string {
  const text = json.toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? JSON.parse(`"${text}"`) : text;
}

function skipSpace(json: Buffer, from: number): number {
  let at = from;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at++;
  return at;
}

function endOfValue(json: Buffer, from: number): number {
  const first = json[from];
  if (first === quote) return endOfString(json, from);
  if (first !== 0x7b && first !== 0x5b) {
    let at = from;
    while (at < json.length && !endsScalar(json[at]!)) at++;
    return at;
  }
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at) - 1;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth >= deepest) throw new NestedTooDeep();
    } else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return at + 1;
  }
  return json.length;
}

function endsScalar(byte: number): boolean {
  return byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20;
}
