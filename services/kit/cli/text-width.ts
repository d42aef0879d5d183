import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let measure: ((text: string) => number) | undefined;

const narrow =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u0482\u048a-\u052f\u2010-\u2027\u2190-\u2193\u2212\u2500-\u259f\u25b8\u25be\u2714\u2718\u2801-\u28ff]*$/;
/** Common letters that take two columns. */
const wide = /[\u3041-\u3096\u30a0-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]/g;

/** Whether it is of common letters and signs alone, each of which takes one column. */
export function isNarrow(text: string): boolean {
  return narrow.test(text);
}

/** Columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (isNarrow(text)) return text.length;
  const rest = text.replace(wide, '');
  if (isNarrow(rest)) return 2 * text.length - rest.length;
  // The tables for all other characters take long to load: combining marks, emoji, …
  measure ??= (require('string-width') as { default: (text: string) => number }).default;
  return measure(text);
}
