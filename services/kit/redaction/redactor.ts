import { maskSpans, secretSpans } from './find-secrets.ts';
import { literally, valueForms } from './value-forms.ts';

export { type FoundSecret, findSecrets, fingerprintOf } from './find-secrets.ts';

/** Shorter values stand in ordinary words; hiding those would hide the text. */
const minLength = 6;
const mask = '[redacted]';

/**
 * Hides secrets in text: those added, in every form in which they could appear, and those that look like one.
 */
export class Redactor {
  #forms = new Set<string>();
  #values: RegExp | null = null;

  addSecret(value: string): void {
    const trimmed = value.trim();
    if (trimmed.length < minLength) return;
    for (const form of valueForms(trimmed)) this.#forms.add(form);
    this.#values = null;
  }

  redact(text: string): string {
    const known = this.#redactValues(text);
    return maskSpans(known, secretSpans(known));
  }

  /** The same value with every string in it redacted, member names too. */
  redactDeep<T>(value: T, depth = 0): T {
    if (typeof value === 'string') return this.redact(value) as T;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > 20) return mask as T;
    if (Array.isArray(value)) return value.map((item) => this.redactDeep(item, depth + 1)) as T;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.redact(key), this.redactDeep(item, depth + 1)]),
    ) as T;
  }

  #redactValues(text: string): string {
    if (this.#forms.size === 0) return text;
    if (this.#values === null) {
      // Longer forms first, so that a part is not hidden before the whole.
      const forms = [...this.#forms].sort((a, b) => b.length - a.length);
      this.#values = new RegExp(forms.map(literally).join('|'), 'g');
    }
    return text.replace(this.#values, mask);
  }
}
