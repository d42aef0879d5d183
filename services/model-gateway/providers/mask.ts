import { maskSpans, secretSpans } from '#kit/redaction/find-secrets.ts';
import { base64Forms } from '#kit/redaction/redactor.ts';

/** Shorter values, such as the words that local servers take for a key, stand in ordinary text. */
export const minHiddenLength = 8;
/** So many characters of a secret, after what all keys of its maker begin with, are hidden without the rest. */
const tailLength = 8;

/** Hides secrets in texts, each character of them by a `*`, so that lengths stay right. */
export class Mask {
  readonly #matchers: readonly SecretMatcher[];

  constructor(secrets: readonly string[]) {
    this.#matchers = secrets.filter((secret) => secret.length >= minHiddenLength).flatMap(matchersOf);
  }

  hide(text: string): string {
    const isEscaped = escapes.test(text);
    if (!isEscaped && !this.#matchers.some((matcher) => matcher.isIn(text))) return text;
    // All are found before one is hidden: secrets begin alike, and where one ends another may go on.
    const found = this.#matchers
      .flatMap((matcher) => matcher.find(text, isEscaped))
      .toSorted((a, b) => a.start - b.start);
    let hidden = '';
    let at = 0;
    for (const { start, end } of found) {
      if (end <= at) continue;
      const from = Math.max(start, at);
      hidden += text.slice(at, from) + '*'.repeat(end - from);
      at = end;
    }
    return hidden + text.slice(at);
  }

  /** For a text in pieces. */
  stream(): MaskStream {
    return new MaskStream(this);
  }

  /** Where the last characters could be the beginning of a secret, with the backslashes before it, which are hidden with it. */
  openFrom(text: string): number {
    let from = Math.min(text.length, ...this.#matchers.map((matcher) => matcher.openFrom(text)));
    while (text[from - 1] === '\\') from--;
    return from;
  }
}

/** Characters that could begin a secret wait for what follows them. */
export class MaskStream {
  readonly #mask: Mask;
  #held = '';

  constructor(mask: Mask) {
    this.#mask = mask;
  }

  push(piece: string): string {
    const text = this.#held + piece;
    const open = this.#mask.openFrom(text);
    this.#held = text.slice(open);
    return this.#mask.hide(text.slice(0, open));
  }

  end(): string {
    return this.#mask.hide(this.#held);
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

function matchersOf(secret: string): SecretMatcher[] {
  // Such as sk-ant-api03-: it says nothing, and people write it.
  const maker = /^(?:[A-Za-z][A-Za-z\d]{0,7}[-_]){0,3}/.exec(secret)![0].length;
  const least = Math.min(maker + tailLength, Math.max(tailLength, secret.length - tailLength / 2));
  const forms = [
    new SecretMatcher(secret, least),
    ...base64Forms(Buffer.from(secret)).map(
      (form) => new SecretMatcher(form, Math.floor((least * 8) / 6) - 1),
    ),
  ];
  if (!secret.includes('%')) return forms;
  // Who writes %25 for one percent sign does so for all.
  const inUrl = (text: string) => text.replaceAll('%', '%25');
  return [...forms, new SecretMatcher(inUrl(secret), inUrl(secret.slice(0, least)).length)];
}

/** What a character in another writing than its own begins with; line ends in JSON are none. */
const escapes = /%|\\[u/"\\]/;

/**
 * A secret, or its base64, as it may stand in a text: each character as itself, as JSON escapes it, also in JSON within JSON, or
 * as URLs do. A beginning of it that identifies it counts too.
 */
class SecretMatcher {
  readonly #secret: string;
  /** The beginning that is found, as it is where nothing is escaped. */
  readonly #heads: readonly string[];
  readonly #head: RegExp;
  readonly #characters: readonly RegExp[];

  /** @param least characters of a beginning that is found */
  constructor(secret: string, least: number) {
    const head = secret.slice(0, least);
    this.#secret = secret;
    this.#heads = [head, head.replaceAll('+', '-').replaceAll('/', '_')];
    this.#head = new RegExp(`(?<!\\\\)${[...head].map(writings).join('')}`, 'g');
    const patterns = new Map([...new Set(secret)].map((one) => [one, new RegExp(writings(one), 'y')]));
    this.#characters = [...secret].map((character) => patterns.get(character)!);
  }

  /** Whether a beginning of it stands in a text without escapes. */
  isIn(text: string): boolean {
    return this.#heads.some((head) => text.includes(head));
  }

  find(text: string, isEscaped: boolean): { readonly start: number; readonly end: number }[] {
    if (!isEscaped && !this.isIn(text)) return [];
    return [...text.matchAll(this.#head)].map(({ index }) => ({ start: index, end: this.#end(text, index) }));
  }

  openFrom(text: string): number {
    let from = Math.max(0, text.length - this.#secret.length + 1);
    while (!this.#secret.startsWith(text.slice(from))) from++;
    return from;
  }

  #end(text: string, start: number): number {
    let end = start;
    for (const character of this.#characters) {
      character.lastIndex = end;
      if (!character.test(text)) break;
      end = character.lastIndex;
    }
    return end;
  }
}

/** The pattern of a character in each of its writings, base64 for URLs too. */
function writings(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(2, '0');
  const hex = [...code].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('');
  const plain = { '+': '[+-]', '/': '[/_]' }[character] ?? `\\x${code}`;
  const escaped = `\\\\*(?:${plain}|u00${hex})`;
  return character === '%' ? `(?:${escaped})` : `(?:${escaped}|%${hex})`;
}
