import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let measure: ((text: string) => number) | undefined;

/** Columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2193\u2212\u2500-\u259f]*$/.test(text))
    return text.length;
  // The tables for wide and combining characters are loaded when the first such text is met.
  measure ??= (require('string-width') as { default: (text: string) => number }).default;
  return measure(text);
}
