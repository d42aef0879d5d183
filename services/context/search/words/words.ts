import { stem } from './porter.ts';

/** What a text is found by: each word's stem, and how often it is there. */
export type Terms = Map<string, number>;

/**
 * Counts the terms of a text as people write them: `readTree`, `read_tree` and `ReadTree` are `read`, `tree` and the whole,
 * `readtre`. A term is of letters and digits alone, so that it is never syntax.
 */
export function addTerms(text: string, terms: Terms, times = 1): void {
  for (const [word] of text.normalize('NFKC').matchAll(wordPattern)) {
    for (const term of termsOfWord(word)) terms.set(term, (terms.get(term) ?? 0) + times);
  }
}

const wordPattern = /[\p{L}\p{M}\p{N}_$]+/gu;
const longest = 64;
const remembered = new Map<string, readonly string[]>();
const mostRemembered = 20_000;

/** The terms of one identifier or word: its parts, and the whole where it has several. */
export function termsOfWord(word: string): readonly string[] {
  const known = remembered.get(word);
  if (known !== undefined) return known;
  const terms = split(word);
  if (word.length > longest) return terms;
  if (remembered.size >= mostRemembered) remembered.delete(remembered.keys().next().value!);
  remembered.set(word, terms);
  return terms;
}

function split(word: string): readonly string[] {
  const parts = partsOf(word);
  const stems = parts.flatMap((part) => (pairs.test(part) ? pairsOf(part) : [termOf(part)])).filter(isTerm);
  if (parts.length < 2) return stems;
  const whole = termOf(parts.join(''));
  return isTerm(whole) ? [...stems, whole] : stems;
}

/** `parseHTTPHeader2` is `parse`, `HTTP`, `Header`, `2`; of letters and digits alone. */
export function partsOf(word: string): string[] {
  return word.match(partPattern) ?? [];
}

const partPattern = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|[[\p{L}\p{M}]--[\p{Lu}\p{Ll}]]+|\p{N}+/gv;

/** Scripts written without spaces are found by each two letters that stand together. */
const pairs = /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]{2,}$/u;

function pairsOf(part: string): string[] {
  const letters = [...part];
  return letters.slice(1).map((letter, index) => letters[index]! + letter);
}

export function termOf(part: string): string {
  return stem(part.toLowerCase());
}

/** Digests, encoded bytes and single letters find nothing that anybody looks for. */
function isTerm(term: string): boolean {
  if (term.length > longest) return false;
  if (term.length < 2) return /\p{Lo}/u.test(term);
  return !/\d/.test(term) || term.length <= 5 || !/^[0-9a-f]+$/.test(term);
}
