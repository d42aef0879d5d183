import { type FoundSecret, markOf } from './find-secrets.ts';
import type { SecretFinder } from './secret-finder.ts';

/** Characters already passed on that are still searched: a name before a value says what the value is. */
const contextLength = 1_024;
/** Characters held back at most; the longest form, a private key, is shorter. */
const maxHeld = 32 * 1_024;

/**
 * Output without secrets, wherever its chunks were cut. A word without an end and a private key without one are held back until
 * the rest comes; everything else passes at once.
 */
export class MaskStream {
  readonly #secrets: SecretFinder;
  readonly #onMasked: (found: FoundSecret) => void;
  /** One character for each byte. The first `#passed` of them went out. */
  #text = '';
  #passed = 0;

  constructor(secrets: SecretFinder, onMasked: (found: FoundSecret) => void = () => {}) {
    this.#secrets = secrets;
    this.#onMasked = onMasked;
  }

  push(chunk: Uint8Array): Buffer {
    this.#text += Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    const held = heldFrom(this.#text);
    const until = this.#text.length - held > maxHeld ? this.#text.length : held;
    return until > this.#passed ? this.#pass(until) : Buffer.alloc(0);
  }

  /** What was held back: nothing follows. */
  end(): Buffer {
    return this.#pass(this.#text.length);
  }

  #pass(until: number): Buffer {
    let masked = '';
    let from = this.#passed;
    for (const span of this.#secrets.find(this.#text)) {
      if (span.end <= from) continue;
      if (span.start >= until) break;
      masked += this.#text.slice(from, Math.max(from, span.start));
      masked += markOf(span.kind, this.#text.slice(span.start, span.end));
      from = span.end;
      this.#onMasked(span);
    }
    masked += this.#text.slice(from, until);
    const passed = Math.max(from, until);
    const dropped = Math.max(0, passed - contextLength);
    this.#text = this.#text.slice(dropped);
    this.#passed = passed - dropped;
    return Buffer.from(masked, 'latin1');
  }
}

/** How private keys of several lines begin and end. */
const blocks = [
  {
    mark: '-----BEGIN ',
    begin: /^-----BEGIN [A-Z0-9 ]{0,60}(?:$|PRIVATE KEY)/,
    end: /-----END [A-Z0-9 ]{0,60}-----/,
  },
  { mark: 'PuTTY-User-Key-File-', begin: /^PuTTY/, end: /Private-(?:MAC|Hash):/ },
];

/** Where begins what could be the first part of a secret. */
function heldFrom(text: string): number {
  let word = text.length;
  while (word > 0 && !/\s/.test(text[word - 1]!)) word--;
  // Signs alone are none, but dashes can begin a private key.
  let held = /[A-Za-z0-9]|-$/.test(text.slice(word)) ? word : text.length;
  for (const { mark, begin, end } of blocks) {
    const start = text.lastIndexOf(mark);
    const block = text.slice(start);
    if (begin.test(block) && !end.test(block)) held = Math.min(held, start);
  }
  return held;
}
