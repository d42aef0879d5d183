import { maskedText } from '#kit/redaction/masked-text.ts';

const maskPattern = /\[redacted [^\]\n]*\]/g;

/** A text without what looks like a secret; of how many there are. */
export function masked(text: string): { readonly text: string; readonly count: number } {
  const redacted = maskedText(text);
  if (redacted === text) return { text, count: 0 };
  const count = (redacted.match(maskPattern)?.length ?? 0) - (text.match(maskPattern)?.length ?? 0);
  return { text: redacted, count: Math.max(1, count) };
}

export function maskedName(name: string | null | undefined): {
  readonly text: string | null;
  readonly count: number;
} {
  return name == null ? { text: null, count: 0 } : masked(name);
}
