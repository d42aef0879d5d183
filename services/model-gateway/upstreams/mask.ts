import { valueForms } from '#kit/redaction/value-forms.ts';

/** Shorter values, such as the words that local servers take for a key, stand in ordinary text. */
const shortest = 8;

/** Hides secrets in bytes, each byte of them by a `*`, so that lengths stay right. */
export class Mask {
  readonly #texts: readonly string[];
  readonly #forms: readonly Buffer[];
  readonly #inForm = new Uint8Array(256);
  readonly #longest: number;

  constructor(secrets: readonly string[]) {
    const texts = secrets.filter((secret) => secret.length >= shortest).flatMap(valueForms);
    // The longest first, so that a part is not hidden before the whole.
    this.#texts = [...new Set(texts)].sort((a, b) => b.length - a.length);
    this.#forms = this.#texts.map((text) => Buffer.from(text));
    this.#longest = this.#forms[0]?.length ?? 0;
    for (const form of this.#forms) for (const byte of form) this.#inForm[byte] = 1;
  }

  /** Changes `bytes` in place. */
  hideIn(bytes: Buffer): Buffer {
    for (const form of this.#forms) {
      for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + form.length)) {
        bytes.fill('*', at, at + form.length);
      }
    }
    return bytes;
  }

  hide(text: string): string {
    const isThere = this.#texts.some((secret) => text.includes(secret));
    return isThere ? this.hideIn(Buffer.from(text)).toString() : text;
  }

  /** For bytes in pieces. */
  stream(): MaskStream {
    return new MaskStream(this);
  }

  /** How many of the last bytes could be the beginning of a secret. */
  heldBack(bytes: Buffer): number {
    const furthest = Math.max(0, bytes.length - this.#longest + 1);
    let from = bytes.length;
    while (from > furthest && this.#inForm[bytes[from - 1]!] === 1) from--;
    for (; from < bytes.length; from++) {
      const length = bytes.length - from;
      const begins = (form: Buffer) =>
        form[0] === bytes[from] && length < form.length && bytes.compare(form, 0, length, from) === 0;
      if (this.#forms.some(begins)) return length;
    }
    return 0;
  }
}

/** Bytes that could begin a secret wait for what follows them. */
export class MaskStream {
  readonly #mask: Mask;
  #held: Buffer = Buffer.alloc(0);

  constructor(mask: Mask) {
    this.#mask = mask;
  }

  push(piece: Buffer): Buffer {
    const bytes = this.#mask.hideIn(this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]));
    const held = this.#mask.heldBack(bytes);
    this.#held = bytes.subarray(bytes.length - held);
    return held === 0 ? bytes : bytes.subarray(0, bytes.length - held);
  }

  end(): Buffer {
    return this.#held;
  }
}
