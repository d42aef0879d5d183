import { stem } from './porter.ts';

/** Terms that a text is found by, each with how often it occurs. */
export type Terms = Map<string, number>;

/**
 * Counts the terms of a text as people write them: `readTree`, `read_tree` and `ReadTree` are `read`, `tree` and the whole,
 * `readtre`. Accents do not count, `C++` is `cpp`. A term is of letters, digits and emoji, so that it is never syntax. Digests and
 * single letters are left out: in a repository they find nothing.
 */
export function termsOf(text: string): Terms {
  const terms: Terms = new Map();
  addTerms(text, terms);
  return terms;
}

/** The same with digests and single letters, which say something in short texts. */
export function allTermsOf(text: string): Terms {
  const terms: Terms = new Map();
  for (const word of wordsIn(text)) count(allTermsOfWord(word), terms);
  return terms;
}

function addTerms(text: string, terms: Terms): void {
  for (const word of wordsIn(text)) count(termsOfWord(word), terms);
}

function count(found: readonly string[], terms: Terms): void {
  for (const term of found) terms.set(term, (terms.get(term) ?? 0) + 1);
}

/** Words, identifiers and emoji of a text, in order. */
function wordsIn(text: string): Iterable<string> {
  return readable(text).match(wordPattern) ?? [];
}

const wordPattern = /[\p{L}\p{M}\p{N}_$]+|\p{RI}{2}|[\p{Extended_Pictographic}--[©®™]]/gv;

/** A text as its words are read: in one of the forms of each letter, and with letters for the signs of `C++` and `C#`. */
export function readable(text: string): string {
  const plain = text.normalize('NFKC');
  if (!plain.includes('++') && !plain.includes('#')) return plain;
  return plain.replaceAll(signedName, (_, plus: string | undefined, sharp: string | undefined) =>
    plus === undefined ? `${sharp!.toLowerCase()}sharp` : `${plus.toLowerCase()}pp`,
  );
}

const signedName =
  /(?<![\p{L}\p{M}\p{N}_$])(?:(c|g|clang|libc|libstdc|notepad)\+\+|([a-z])#(?![\p{L}\p{M}_$]))/giu;

const maxTermLength = 64;

interface WordTerms {
  readonly all: readonly string[];
  /** Without digests and single letters. */
  readonly telling: readonly string[];
}

const remembered = new Map<string, WordTerms>();
const maxRemembered = 20_000;

/** The terms of one identifier or word: its parts, and the whole where it has several. */
export function termsOfWord(word: string): readonly string[] {
  return rememberedTerms(word).telling;
}

export function allTermsOfWord(word: string): readonly string[] {
  return rememberedTerms(word).all;
}

function rememberedTerms(word: string): WordTerms {
  const known = remembered.get(word);
  if (known !== undefined) return known;
  const all = split(word).filter((term) => term.length <= maxTermLength);
  const terms = { all, telling: all.filter(isTelling) };
  if (word.length > maxTermLength) return terms;
  if (remembered.size >= maxRemembered) remembered.delete(remembered.keys().next().value!);
  remembered.set(word, terms);
  return terms;
}

/** Terms of a query's word. A letter of a script without spaces is a term of its own only if there is nothing longer. */
export function soughtOf(terms: readonly string[]): readonly string[] {
  const longer = terms.filter((term) => !isUnspacedLetter(term));
  return longer.length > 0 ? longer : terms;
}

function split(word: string): readonly string[] {
  if (digest.test(word)) return [word.toLowerCase()];
  const parts = partsOf(word).filter((part) => /[\p{L}\p{N}]/u.test(part));
  if (parts.length === 0) return /\p{Extended_Pictographic}|\p{RI}/u.test(word) ? [word] : [];
  const stems = parts.flatMap((part) => (isUnspaced(part) ? pairsOf(part) : [termOf(part)]));
  if (parts.length === 1) return stems;
  const telling = stems.filter((term) => term.length > 1 || isUnspacedLetter(term));
  return parts.some(isUnspaced) ? telling : [...telling, termOf(parts.join(''))];
}

const digest = /^(?=.*\d)[0-9a-f]{7,}$/i;

/** `parseHTTPHeader2` is `parse`, `HTTP`, `Header`, `2`; of letters and digits alone. */
export function partsOf(word: string): string[] {
  return word.match(partPattern) ?? [];
}

const partPattern = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|[[\p{L}\p{M}]--[\p{Lu}\p{Ll}]]+|\p{N}+/gv;

/** Scripts whose words stand without spaces, or, as Korean nouns, join with their particles. */
const unspaced =
  /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+$/u;

export function isUnspaced(text: string): boolean {
  return unspaced.test(text);
}

/** A letter with its marks. */
const letter = /\P{M}\p{M}*/gu;

export function isUnspacedLetter(term: string): boolean {
  return isUnspaced(term) && /^\P{M}\p{M}*$/u.test(term);
}

/** Each two letters that stand together, and the last one, so that a term begins with each letter. */
function pairsOf(part: string): string[] {
  const letters = withoutParticle(part).match(letter) ?? [];
  return letters.map((one, index) => one + (letters[index + 1] ?? ''));
}

/** A Korean noun without the particle that ends it. */
function withoutParticle(part: string): string {
  return part.replace(particle, '');
}

const particle =
  /(?<=^\p{sc=Hangul}+)(?:에서|에게|한테|으로|까지|부터|처럼|보다|마다)$|(?<=^\p{sc=Hangul}{2,})[을를이가은는에의와과로도만]$/u;

export function termOf(part: string): string {
  return stem(withoutAccents(part.toLowerCase()));
}

const otherLetters: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i', ς: 'σ' },
};

/** Only of scripts with upper and lower case: marks of other scripts are vowels and tones. */
function withoutAccents(lower: string): string {
  if (!/[^\0-\x7f]/.test(lower) || !/\p{Ll}/u.test(lower)) return lower;
  const letters = lower.replaceAll(/[ßæœøłđðþıς]/g, (one) => otherLetters[one]!);
  return letters
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .normalize('NFC');
}

/** Digests, encoded bytes and single letters find nothing in a repository. */
function isTelling(term: string): boolean {
  if (term.length < 2) return isTellingLetter(term);
  return !/\d/.test(term) || term.length <= 5 || !/^[0-9a-f]+$/.test(term);
}

export function isTellingLetter(term: string): boolean {
  return /[\p{Lo}\p{Extended_Pictographic}]/u.test(term);
}

const maxTimes = 16;

/** Terms as a text for an index, separated by spaces: the tokenizer has nothing to decide. The 20th time says no more than the 16th. */
export function bagOf(terms: Terms): string {
  let bag = '';
  for (const [term, count] of terms) bag += `${term} `.repeat(Math.min(count, maxTimes));
  return bag;
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
