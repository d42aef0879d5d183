import { maskSpans, secretSpans } from './find-secrets.ts';
import { valueForms } from './value-forms.ts';

export { type FoundSecret, findSecrets, fingerprintOf } from './find-secrets.ts';

/** Shorter values stand in ordinary words; hiding those would hide the text. */
const minLength = 6;
/** What is nested deeper is hidden as a whole: texts from outside must not exhaust the stack. */
const maxDepth = 20;
const mask = '[redacted]';

/**
 * Hides secrets in text: those added, in every form in which they could appear, and those that look like one.
 */
export class Redactor {
  readonly #forms = new Set<string>();
  /** Matches each form, and nothing while there is none. */
  #values = /(?!)/g;

  addSecret(value: string): void {
    const trimmed = value.trim();
    if (trimmed.length < minLength) return;
    for (const form of valueForms(trimmed)) this.#forms.add(form);
    // Longer forms first, so that a part is not hidden before the whole.
    const forms = [...this.#forms].sort((a, b) => b.length - a.length);
    this.#values = new RegExp(forms.map(RegExp.escape).join('|'), 'g');
  }

  redact(text: string): string {
    const known = text.replace(this.#values, mask);
    return maskSpans(known, secretSpans(known));
  }

  /** The same value with every string in it redacted, member names too. */
  redactDeep<T>(value: T, depth = 0): T {
    if (typeof value === 'string') return this.redact(value) as T;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > maxDepth) return mask as T;
    if (Array.isArray(value)) return value.map((item) => this.redactDeep(item, depth + 1)) as T;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.redact(key), this.redactDeep(item, depth + 1)]),
    ) as T;
  }
}
