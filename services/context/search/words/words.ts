import { stem } from './porter.ts';

/** What a text is found by: each word's stem, and how often it is there. */
export type Terms = Map<string, number>;

/**
 * Counts the terms of a text as people write them: `readTree`, `read_tree` and `ReadTree` are `read`, `tree` and the whole,
 * `readtre`. A term is of letters and digits alone, so that it is never syntax.
 */
export function termsOf(text: string): Terms {
  const terms: Terms = new Map();
  addTerms(text, terms);
  return terms;
}

function addTerms(text: string, terms: Terms): void {
  for (const [word] of text.normalize('NFKC').matchAll(wordPattern))
    for (const term of termsOfWord(word)) terms.set(term, (terms.get(term) ?? 0) + 1);
}

const wordPattern = /[\p{L}\p{M}\p{N}_$]+/gu;
const maxTermLength = 64;
const remembered = new Map<string, readonly string[]>();
const maxRemembered = 20_000;

/** The terms of one identifier or word: its parts, and the whole where it has several. */
export function termsOfWord(word: string): readonly string[] {
  const known = remembered.get(word);
  if (known !== undefined) return known;
  const terms = split(word);
  if (word.length > maxTermLength) return terms;
  if (remembered.size >= maxRemembered) remembered.delete(remembered.keys().next().value!);
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
  if (term.length > maxTermLength) return false;
  if (term.length < 2) return /\p{Lo}/u.test(term);
  return !/\d/.test(term) || term.length <= 5 || !/^[0-9a-f]+$/.test(term);
}

/**
 * Counts the terms of paths: those of its words, and its last names written together, with and without what follows the first
 * dot: `kit/crash-point.test.ts` is also `crashpoint`, `crashpointtestt`, `kitcrashpoint` and `kitcrashpointtestt`.
 */
export function pathTermsOf(...paths: readonly string[]): Terms {
  const terms: Terms = new Map();
  for (const path of paths) {
    addTerms(path, terms);
    for (const term of wholesOfPath(path)) terms.set(term, (terms.get(term) ?? 0) + 1);
  }
  return terms;
}

/** A file's name and its last two and three names as one term each. */
export function wholesOfPath(path: string): Set<string> {
  const names = path.split(/[/\\]/).filter((name) => name !== '');
  const wholes = new Set<string>();
  for (let count = 1; count <= Math.min(3, names.length); count++) {
    const last = names.slice(-count).join('/');
    wholes.add(joined(last));
    const dot = last.indexOf('.', last.lastIndexOf('/') + 2);
    if (dot > 0) wholes.add(joined(last.slice(0, dot)));
  }
  wholes.delete('');
  return wholes;
}

/** Several words as if they were written as one. */
export function joined(text: string): string {
  return termOf(partsOf(text).join('')).slice(0, maxTermLength);
}
