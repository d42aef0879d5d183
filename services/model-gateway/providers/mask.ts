import { maskSpans, secretSpans } from '#kit/redaction/find-secrets.ts';
import { base64Forms } from '#kit/redaction/value-forms.ts';
import { type Found, hasEscapes, SecretMatcher } from './secret-matcher.ts';

/** Shorter values, such as the words that local servers take for a key, stand in ordinary text. */
export const shortestHidden = 8;
/** So many characters of a secret, after what all keys of its maker begin with, are hidden without the rest. */
const telling = 8;
const star = 0x2a;

/** Hides secrets in bytes, each byte of them by a `*`, so that lengths stay right. */
export class Mask {
  readonly #forms: readonly SecretMatcher[];
  readonly #reach: number;

  constructor(secrets: readonly string[]) {
    this.#forms = secrets.filter((secret) => secret.length >= shortestHidden).flatMap(formsOf);
    this.#reach = Math.max(0, ...this.#forms.map(({ reach }) => reach));
  }

  /** Changes `bytes` in place. */
  hideIn(bytes: Buffer): Buffer {
    return this.#fill(bytes, bytes.length);
  }

  hide(text: string): string {
    if (this.#forms.length === 0) return text;
    const bytes = Buffer.from(text);
    const found = this.#find(bytes);
    if (found.length === 0) return text;
    for (const { start, end } of found) bytes.fill(star, start, end);
    return bytes.toString();
  }

  /** For bytes in pieces. */
  stream(): MaskStream {
    return new MaskStream(this);
  }

  /** Hides what is whole, in place, and tells how many of the last bytes could be the beginning of a secret. */
  hideWhole(bytes: Buffer): number {
    const held = this.#heldBack(bytes);
    this.#fill(bytes, bytes.length - held);
    return held;
  }

  /** @param until where those that begin later are left alone */
  #fill(bytes: Buffer, until: number): Buffer {
    for (const { start, end } of this.#find(bytes)) if (start < until) bytes.fill(star, start, end);
    return bytes;
  }

  /** All are found before one is hidden: forms begin alike, and where one ends another may go on. */
  #find(bytes: Buffer): readonly Found[] {
    const found: Found[] = [];
    if (this.#forms.length === 0) return found;
    const latin1 = hasEscapes(bytes) ? bytes.toString('latin1') : null;
    for (const form of this.#forms) form.findIn(bytes, latin1, found);
    return found;
  }

  #heldBack(bytes: Buffer): number {
    let from = bytes.length;
    const furthest = Math.max(0, bytes.length - this.#reach);
    while (from > furthest && isInWord(bytes[from - 1]!)) from--;
    for (; from < bytes.length; from++) {
      if (this.#forms.some((form) => form.at(bytes, from)?.open === true)) return bytes.length - from;
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
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    const held = this.#mask.hideWhole(bytes);
    this.#held = bytes.subarray(bytes.length - held);
    return held === 0 ? bytes : bytes.subarray(0, bytes.length - held);
  }

  end(): Buffer {
    return this.#mask.hideIn(this.#held);
  }
}

/**
 * What an upstream said, as others may see it: without its credentials, and without what looks like a secret of anybody. Ask
 * before a text is cut, because half a secret is not recognised.
 */
export function withoutSecrets(text: string, mask: Mask): string {
  const hidden = mask.hide(text);
  return maskSpans(hidden, secretSpans(hidden));
}

function formsOf(secret: string): SecretMatcher[] {
  // Such as sk-ant-api03-: it says nothing, and people write it.
  const maker = /^(?:[A-Za-z][A-Za-z\d]{0,7}[-_]){0,3}/.exec(secret)![0].length;
  const least = Math.min(maker + telling, Math.max(telling, secret.length - telling / 2));
  const encoded = base64Forms(Buffer.from(secret)).map(
    (form) => new SecretMatcher(form, Math.floor((least * 8) / 6) - 1),
  );
  return [new SecretMatcher(secret, least), ...encoded];
}

/** Visible ASCII, which is all that secrets are made of. */
function isInWord(byte: number): boolean {
  return byte > 0x20 && byte < 0x7f;
}
