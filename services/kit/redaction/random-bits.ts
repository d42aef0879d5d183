import pairs from './letter-pairs.json' with { type: 'json' };

/** Rows by the letter before, `^` at the beginning of a word; in each row one hex digit per letter from a to z. */
const rows: Readonly<Record<string, string>> = pairs;

/** Bits of a character that is drawn from 26 capitals, 26 small letters and 10 digits. */
const drawnBits = Math.log2(62);
const digitBits = Math.log2(10);

/**
 * Bits by which a text is cheaper to explain as drawn by chance than as words and numbers in the casing of code. Above 0 chance is
 * likelier. Words cost what pairs of letters cost in the words of open source code; signs cost nothing and separate words.
 */
export function randomBits(text: string): number {
  let bits = 0;
  for (const [token] of text.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g))
    bits += (/\d/.test(token) ? numberBits(token) : wordBits(token)) - drawnBits * token.length;
  return bits;
}

function numberBits(digits: string): number {
  return 4 + digitBits * digits.length;
}

function wordBits(word: string): number {
  let bits = word.length === 1 ? 5 : word.length === 2 ? 4 : 2;
  if (/^[A-Z]{2}/.test(word)) bits += 1;
  let before = '^';
  for (const letter of word.toLowerCase()) {
    bits += Number.parseInt(rows[before]![letter.charCodeAt(0) - 97]!, 16) + 0.3;
    before = letter;
  }
  return bits;
}
