import { sha256 } from '../digest.ts';
import { publishedExamples, type SecretRule, secretRules } from './secret-rules.ts';

export interface FoundSecret {
  /** For example `github_token`. */
  readonly kind: string;
  /** From 1. */
  readonly line: number;
  /** `sha256:` and the first 16 hex digits of the secret's sha256: names it without revealing it. */
  readonly fingerprint: string;
  /** Offsets of the secret in the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

/** Secrets that a text seems to hold, in order of place, none inside another. */
export function findSecrets(text: string, rules: readonly SecretRule[] = secretRules): FoundSecret[] {
  const spans = secretSpans(text, rules);
  const found: FoundSecret[] = [];
  let line = 1;
  let counted = 0;
  for (const { kind, start, end } of spans) {
    for (; counted < start; counted++) if (text.charCodeAt(counted) === 10) line++;
    found.push({ kind, line, fingerprint: fingerprintOf(text.slice(start, end)), start, end });
  }
  return found;
}

/** The text, without the escapes of a URL where they hide a secret. */
export function withoutHidingEscapes(
  text: string,
  find: (text: string) => readonly unknown[] = secretSpans,
): string {
  const plain = unescaped(text);
  return plain !== text && find(plain).length > find(text).length ? plain : text;
}

function unescaped(text: string): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text;
  } catch {
    return text;
  }
}

/** The text with a mark in place of each span. Marks keep line breaks, so that what follows stays on its line. */
export function maskSpans(text: string, spans: readonly SecretSpan[]): string {
  let masked = '';
  let from = 0;
  for (const { kind, start, end } of spans) {
    masked += text.slice(from, start) + markOf(kind, text.slice(start, end));
    from = end;
  }
  return masked + text.slice(from);
}

export function markOf(kind: string, secret: string): string {
  return `[redacted ${kind}]${'\n'.repeat(secret.split('\n').length - 1)}`;
}

export function fingerprintOf(secret: string): string {
  return `sha256:${sha256(secret).slice(0, 16)}`;
}

export interface SecretSpan {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** Spans of secrets, including those whose name or value is escaped, as in JSON inside JSON. */
export function secretSpans(text: string, rules: readonly SecretRule[] = secretRules): SecretSpan[] {
  const plainSpans = spansIn(text, rules);
  const escapedSpans = spansBehindEscapes(text, rules);
  if (escapedSpans.length === 0) return withoutOverlaps(plainSpans);
  // A span across an escape ends too late.
  const others = plainSpans.filter(
    ({ start, end }) =>
      !anyEscape.test(text.slice(start, end)) ||
      !escapedSpans.some((span) => span.start < end && start < span.end),
  );
  return withoutOverlaps([...others, ...escapedSpans]);
}

/** Characters of a string that are escaped once or several times. */
const escapes = /(?<!\\)\\{1,64}(?:(["'`/nrt])|u([0-9a-fA-F]{4}))/g;
const anyEscape = new RegExp(escapes.source);
const linesWithEscapes = new RegExp(`^.*${anyEscape.source}.*$`, 'gm');
const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function spansBehindEscapes(text: string, rules: readonly SecretRule[]): SecretSpan[] {
  if (!text.includes('\\')) return [];
  const { any } = keywordsOf(rules);
  return [...text.matchAll(linesWithEscapes)].flatMap(({ 0: line, index }) => {
    if (!any.test(line.toLowerCase())) return [];
    const { plain, origins } = withoutEscapes(line);
    return spansIn(plain, rules).map(({ kind, start, end }) => ({
      kind,
      start: index + origins[start]!,
      end: index + origins[end]!,
    }));
  });
}

/** The text without escapes, and where each of its characters, and its end, was in the text. */
function withoutEscapes(text: string): { plain: string; origins: Uint32Array } {
  const origins = new Uint32Array(text.length + 1);
  const parts: string[] = [];
  let length = 0;
  let from = 0;
  const copy = (until: number) => {
    parts.push(text.slice(from, until));
    for (let at = from; at < until; at++) origins[length++] = at;
  };
  for (const { 0: escaped, 1: sign, 2: code, index } of text.matchAll(escapes)) {
    copy(index);
    parts.push(
      sign === undefined ? String.fromCharCode(Number.parseInt(code!, 16)) : (controls[sign] ?? sign),
    );
    origins[length++] = index;
    from = index + escaped.length;
  }
  copy(text.length);
  origins[length] = text.length;
  return { plain: parts.join(''), origins };
}

function spansIn(text: string, rules: readonly SecretRule[]): SecretSpan[] {
  const lower = text.toLowerCase();
  const { any, words } = keywordsOf(rules);
  if (!any.test(lower)) return [];
  const spans: SecretSpan[] = [];
  for (const [index, { kind, pattern, entropy, allow, accept }] of rules.entries()) {
    if (!words[index]!.some((word) => lower.includes(word))) continue;
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices!.groups!.secret!;
      const secret = text.slice(start, end);
      if (publishedExamples.has(secret)) continue;
      if (entropyOf(secret) < entropy || allow.some((harmless) => harmless.test(secret))) continue;
      if (accept?.(secret, /["'`]/.test(text[start - 1] ?? '')) === false) continue;
      spans.push({ kind, start, end });
    }
  }
  return spans;
}

interface Keywords {
  /** Matches if a text has any of them: one search for all is much faster than one for each, and most texts have none. */
  readonly any: RegExp;
  /** Keywords of each rule, in lower case. */
  readonly words: readonly (readonly string[])[];
}

const keywords = new WeakMap<readonly SecretRule[], Keywords>();
function keywordsOf(rules: readonly SecretRule[]): Keywords {
  const known = keywords.get(rules);
  if (known !== undefined) return known;
  const words = rules.map((rule) => [...new Set(rule.keywords.map((word) => word.toLowerCase()))]);
  const any = new RegExp([...new Set(words.flat())].map((word) => RegExp.escape(word)).join('|'));
  const made = { any, words };
  keywords.set(rules, made);
  return made;
}

/** The widest span wins, and of equal ones the rule that comes first. */
function withoutOverlaps(spans: readonly SecretSpan[]): SecretSpan[] {
  const kept: SecretSpan[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = kept.at(-1);
    if (last === undefined || span.start >= last.end) kept.push(span);
  }
  return kept;
}

/** Shannon entropy in bits for each character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
