import { maskSpans, secretSpans } from './find-secrets.ts';

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

/** What writers of JSON escape that need not be: Python, Go, Jinja, Gson, .NET, and those that escape all but letters and digits. */
const escapedInJson = [
  /[\u0080-\uffff]/g,
  /[<>&]/g,
  /[<>&'\u0080-\uffff]/g,
  /[<>&=']/g,
  /\\"|[+<>&'`\u0080-\uffff]/g,
  /\\["\\]|[^A-Za-z0-9\\]/g,
];

/** The forms, some of them equal, in which a secret value can appear in text: itself, in JSON, in URLs, in base64 of anything around it. */
export function valueForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const jsonForms = escapedInJson.flatMap((escaped) => [
    json.replaceAll(escaped, (text) => `\\u${hexOf(text)}`),
    json.replaceAll(escaped, (text) => `\\u${hexOf(text).toUpperCase()}`),
  ]);
  return [
    value,
    json,
    ...jsonForms,
    // PHP escapes the slash.
    ...jsonForms.map((form) => form.replaceAll('/', '\\/')),
    encodeURIComponent(value),
    new URLSearchParams({ '': value }).toString().slice(1),
    ...base64Forms(Buffer.from(value)).flatMap((form) => [
      form,
      form.replaceAll('+', '-').replaceAll('/', '_'),
      encodeURIComponent(form),
    ]),
  ];
}

function hexOf(text: string): string {
  return text
    .charCodeAt(text.length - 1)
    .toString(16)
    .padStart(4, '0');
}

/** Base64 has three phases; each gives the characters that depend on the value alone. */
export function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
}
