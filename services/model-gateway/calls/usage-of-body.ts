import { membersOf } from './json-members.ts';
import { type Usage, usageOf } from './usage.ts';

const key = '"usage"';
/** `usage` is small and stands near one of the ends of an answer that is large. */
const kept = 64 * 1024;

/** Usage in a whole answer. */
export function usageInBody(json: Buffer): Usage | null {
  for (let at = json.lastIndexOf(key); at !== -1; at = at === 0 ? -1 : json.lastIndexOf(key, at - 1)) {
    // In a text, the quote would have a backslash.
    if (json[at - 1] === 0x5c) continue;
    const usage = usageAt(json, at + key.length);
    if (usage !== null) return usage;
  }
  return null;
}

/** Usage in an answer that is too large to be held: of its ends alone. */
export class LargeBodyReader {
  #head: Buffer;
  #tail: Buffer;

  constructor(first: Buffer) {
    this.#head = Buffer.from(first.subarray(0, kept));
    this.#tail = Buffer.from(first.subarray(-kept));
  }

  push(piece: Buffer): void {
    const joined = piece.length >= kept ? piece : Buffer.concat([this.#tail, piece]);
    this.#tail = Buffer.from(joined.subarray(-kept));
  }

  get usage(): Usage | null {
    return usageInBody(this.#tail) ?? usageInBody(this.#head);
  }
}

function usageAt(json: Buffer, afterKey: number): Usage | null {
  let at = afterKey;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x3a) at++;
  if (json[at] !== 0x7b) return null;
  const { end } = membersOf(json, at);
  try {
    return usageOf(JSON.parse(json.toString('utf8', at, end)));
  } catch {
    return null;
  }
}
