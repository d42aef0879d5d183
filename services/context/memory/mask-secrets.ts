import { maskedText } from '#kit/redaction/masked-text.ts';

/** A text without what looks like a secret; how many marks stand in it for one. */
export function masked(text: string): { readonly text: string; readonly count: number } {
  const redacted = maskedText(text);
  return { text: redacted, count: redacted.match(/\[redacted [^\]\n]*\]/g)?.length ?? 0 };
}

export function maskedName(name: string | null | undefined): {
  readonly text: string | null;
  readonly count: number;
} {
  return name == null ? { text: null, count: 0 } : masked(name);
}
