import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let measure: ((text: string) => number) | undefined;

/** Columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  const known = widthOfLetters(text);
  if (known !== null) return known;
  // The tables for all other characters are loaded when the first of them is met: combining marks, emoji, …
  measure ??= (require('string-width') as { default: (text: string) => number }).default;
  return measure(text);
}

/** Of common letters and signs, each by itself; null where another is among them. */
function widthOfLetters(text: string): number | null {
  let width = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isNarrow(code)) width += 1;
    else if (isWide(code)) width += 2;
    else return null;
  }
  return width;
}

function isNarrow(code: number): boolean {
  if (code <= 0x7e) return code >= 0x20;
  if (code <= 0x2ff) return code >= 0xa1 && code !== 0xad;
  return (
    (code >= 0x391 && code <= 0x482) ||
    (code >= 0x48a && code <= 0x52f) ||
    (code >= 0x2010 && code <= 0x2027) ||
    (code >= 0x2190 && code <= 0x2193) ||
    code === 0x2212 ||
    (code >= 0x2500 && code <= 0x259f) ||
    (code >= 0x2801 && code <= 0x28ff)
  );
}

function isWide(code: number): boolean {
  return (
    (code >= 0x3041 && code <= 0x3096) ||
    (code >= 0x30a0 && code <= 0x30ff) ||
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xff01 && code <= 0xff60)
  );
}
