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
    const spans = this.#secrets.find(this.#text).filter(({ end }) => end > this.#passed);
    const cut = spans.find(({ start, end }) => start < until && end > until);
    const to = Math.max(this.#passed, cut === undefined ? until : cut.start);
    let masked = '';
    let from = this.#passed;
    for (const span of spans) {
      if (span.start >= to) break;
      masked += this.#text.slice(from, Math.max(from, span.start));
      masked += markOf(span.kind, this.#text.slice(span.start, span.end));
      from = span.end;
      this.#onMasked(span);
    }
    if (from < to) masked += this.#text.slice(from, to);
    const passed = Math.max(from, to);
    const dropped = Math.max(0, passed - contextLength);
    this.#text = this.#text.slice(dropped);
    this.#passed = passed - dropped;
    return Buffer.from(masked, 'latin1');
  }
}

/** Where begins what could be the first part of a secret. */
function heldFrom(text: string): number {
  const key = text.lastIndexOf('-----BEGIN ');
  const isOpenKey =
    key >= 0 && /^-----BEGIN [A-Z0-9 ]{0,60}(?:$|PRIVATE KEY)/.test(text.slice(key, key + 80));
  if (isOpenKey && !/-----END [A-Z0-9 ]{0,60}-----/.test(text.slice(key))) return key;
  let word = text.length;
  while (word > 0 && text.length - word <= maxHeld && !/\s/.test(text[word - 1]!)) word--;
  // Signs alone are none, but dashes can begin a private key.
  return /[A-Za-z0-9]|-$/.test(text.slice(word)) ? word : text.length;
}
