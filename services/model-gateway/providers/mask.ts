import { maskSpans, secretSpans } from '#kit/redaction/find-secrets.ts';
import { base64Forms } from '#kit/redaction/value-forms.ts';

/** Shorter values, such as the words that local servers take for a key, stand in ordinary text. */
export const minHiddenLength = 8;
/** So many characters of a secret, after what all keys of its maker begin with, are hidden without the rest. */
const tailLength = 8;
const star = 0x2a;

/** Hides secrets in bytes, each byte of them by a `*`, so that lengths stay right. */
export class Mask {
  readonly #forms: readonly SecretMatcher[];
  readonly #reach: number;

  constructor(secrets: readonly string[]) {
    this.#forms = secrets.filter((secret) => secret.length >= minHiddenLength).flatMap(formsOf);
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

  /** Hides what is whole, in place, and returns how many of the last bytes could be the beginning of a secret. */
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
    const start = Math.max(0, bytes.length - this.#reach);
    while (from > start && isInWord(bytes[from - 1]!)) from--;
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
  const least = Math.min(maker + tailLength, Math.max(tailLength, secret.length - tailLength / 2));
  const encoded = base64Forms(Buffer.from(secret)).map(
    (form) => new SecretMatcher(form, Math.floor((least * 8) / 6) - 1),
  );
  return [new SecretMatcher(secret, least), ...encoded];
}

/** Visible ASCII, which is all that secrets are made of. */
function isInWord(byte: number): boolean {
  return byte > 0x20 && byte < 0x7f;
}

const backslash = 0x5c;
const percent = 0x25;
const letterU = 0x75;
/** Bytes that a character takes at most, as JSON in JSON in JSON writes it. */
const maxCharacterBytes = 12;

export interface Found {
  readonly start: number;
  readonly end: number;
  /** It goes on to the end of the bytes, and what follows them may belong to it. */
  readonly open: boolean;
}

/**
 * A secret, or its base64, as it may stand in bytes: each character as itself, as JSON escapes it, also in JSON within JSON, or
 * as URLs do. A beginning of it that identifies it counts too.
 */
export class SecretMatcher {
  readonly #codes: Uint8Array;
  /** Characters of a beginning that is found. */
  readonly #least: number;
  readonly #literals: readonly Buffer[];
  readonly #escaped: RegExp;
  readonly #hasPercent: boolean;

  constructor(text: string, least: number) {
    this.#codes = Buffer.from(text);
    this.#hasPercent = text.includes('%');
    this.#least = Math.min(least, text.length);
    const head = text.slice(0, this.#least);
    const variants = new Set([head, head.replaceAll('+', '-').replaceAll('/', '_')]);
    this.#literals = [...variants].map((variant) => Buffer.from(variant));
    this.#escaped = new RegExp(`(?<!\\\\)${[...head].map(escapedForms).join('')}`, 'g');
  }

  /** Bytes of its longest writing, about. */
  get reach(): number {
    return this.#codes.length * maxCharacterBytes;
  }

  /** Adds the places where it stands. @param latin1 the same bytes where they hold escapes, else null */
  findIn(bytes: Buffer, latin1: string | null, places: Found[]): void {
    if (bytes.length < this.#least) return;
    if (latin1 === null) this.#findLiterally(bytes, places);
    else for (const { index } of latin1.matchAll(this.#escaped)) this.#add(bytes, index, places);
  }

  /** What stands at this place, if it is enough of the secret, or could be with what follows. */
  at(bytes: Buffer, start: number): Found | null {
    // Who writes %25 for one percent sign does so for all.
    return this.#at(bytes, start, true) ?? (this.#hasPercent ? this.#at(bytes, start, false) : null);
  }

  #at(bytes: Buffer, start: number, plain: boolean): Found | null {
    const codes = this.#codes;
    let at = start;
    for (let index = 0; index < codes.length; index++) {
      if (at >= bytes.length) return { start, end: at, open: true };
      const next = afterCharacter(bytes, at, codes[index]!, plain);
      if (next === cutOff) return { start, end: bytes.length, open: true };
      if (next === different) return index >= this.#least ? { start, end: at, open: false } : null;
      at = next;
    }
    return { start, end: at, open: false };
  }

  #findLiterally(bytes: Buffer, places: Found[]): void {
    for (const literal of this.#literals) {
      for (let at = bytes.indexOf(literal); at !== -1; at = bytes.indexOf(literal, at + literal.length))
        this.#add(bytes, at, places);
    }
  }

  #add(bytes: Buffer, start: number, places: Found[]): void {
    const found = this.at(bytes, start);
    if (found !== null && (!found.open || this.#countsAtEnd(bytes, found))) places.push(found);
  }

  /** Whether so much of it stands here, at the end of everything, that it is hidden. */
  #countsAtEnd(bytes: Buffer, { start }: Found): boolean {
    return this.#hasLeast(bytes, start, true) || (this.#hasPercent && this.#hasLeast(bytes, start, false));
  }

  #hasLeast(bytes: Buffer, start: number, plain: boolean): boolean {
    let at = start;
    for (let index = 0; index < this.#least; index++) {
      at = at >= bytes.length ? cutOff : afterCharacter(bytes, at, this.#codes[index]!, plain);
      if (at < 0) return false;
    }
    return true;
  }
}

/** Whether a character may stand in another writing than its own; those of line ends in JSON are none. */
export function hasEscapes(bytes: Buffer): boolean {
  if (bytes.indexOf(percent) !== -1) return true;
  for (let at = bytes.indexOf(backslash); at !== -1; at = bytes.indexOf(backslash, at + 1)) {
    const next = bytes[at + 1];
    if (next === letterU || next === 0x2f || next === 0x22 || next === backslash) return true;
  }
  return false;
}

const different = -1;
const cutOff = -2;

/** Where the next character begins, after this one in any of its writings. @param plain a percent sign stands for itself */
function afterCharacter(bytes: Buffer, at: number, code: number, plain: boolean): number {
  const byte = bytes[at]!;
  if (byte === backslash) return afterEscape(bytes, at, code);
  if ((byte === code && (plain || byte !== percent)) || (byte !== code && byte === urlSafe(code)))
    return at + 1;
  return byte === percent ? afterHex(bytes, at + 1, 2, code) : different;
}

function afterEscape(bytes: Buffer, from: number, code: number): number {
  let at = from;
  while (bytes[at] === backslash) at++;
  if (bytes[at] === letterU) {
    const next = afterHex(bytes, at + 1, 4, code);
    if (next !== different) return next;
  }
  if (code === backslash) return at === from + 1 ? at : from + 2;
  if (at === bytes.length) return cutOff;
  return bytes[at] === code ? at + 1 : different;
}

function afterHex(bytes: Buffer, at: number, digits: number, code: number): number {
  const text = bytes.toString('latin1', at, at + digits);
  if (text.length < digits) return cutOff;
  return /^[\da-f]+$/i.test(text) && Number.parseInt(text, 16) === code ? at + digits : different;
}

/** As base64 for URLs writes it. */
function urlSafe(code: number): number {
  if (code === 0x2b) return 0x2d;
  return code === 0x2f ? 0x5f : code;
}

function escapedForms(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16).padStart(2, '0');
  const anyCase = [...hex].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('');
  const itself = [...new Set([code, urlSafe(code)])].map((one) => `\\x${one.toString(16)}`).join('|');
  return `(?:\\\\*(?:${itself}|u00${anyCase})|%${anyCase})`;
}
